/**
 * Schedules fire exactly once a time in the cluster: the job and the schedule's next time are one
 * transaction of the one leader.
 */
import { MillraceError, assertNever } from '../errors.ts';
import type { BackfilledJob } from '../effects.ts';
import type { BackfillSchedule, ChangeSchedule, PutSchedule } from '../event.ts';
import type { Instant, JobId, ScheduleId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import { backfilledJobId, isBackfilled, occurrenceJobId } from '../schedule/occurrence.ts';
import {
  dueOccurrences,
  firstOccurrence,
  resumedOccurrence,
  untilEnd,
} from '../schedule/schedule.ts';
import type { ScheduleSpec } from '../schedule/schedule.ts';
import { type DeclinedSchedule, declinedRow } from '../schedule/declined.ts';
import { definitionOf, encodeScheduleSpec } from '../schedule/spec.ts';
import type { Schedule } from '../schedule/state.ts';
import { scheduleRow } from '../schedule/state.ts';
import type { SchedulerState } from '../state.ts';
import type { StepContext } from '../step-context.ts';
import { armSchedule } from './schedule-timer.ts';
import { makeWay } from './singleton.ts';
import { stopJob } from './stop.ts';
import { createJob } from './submit.ts';

export function putSchedule(context: StepContext, event: PutSchedule): void {
  const { state } = context;
  const known = state.schedules.get(event.scheduleId);
  const isNew = known === undefined && !state.declinedSchedules.has(event.scheduleId);
  if (isNew && isFullOfSchedules(state)) {
    return context.refuse(event.ask, tooMany(state.settings.schedulesMax));
  }
  if (event.expected !== undefined && event.expected !== textOf(known)) {
    return context.refuse(event.ask, changed(event.scheduleId));
  }
  reply(context, event.ask, placeSchedule(context, event), null);
}

/** In place of the one with that id, which it goes on from; a new one may begin with a pause. */
export function placeSchedule(
  context: StepContext,
  given: Pick<PutSchedule, 'scheduleId' | 'spec' | 'document'>,
  isPaused = false,
): Schedule {
  const { state } = context;
  const { scheduleId: id, spec, document } = given;
  const known = state.schedules.get(id);
  // Without a limit runs are not stored, and another leader would not know of them.
  const runs = known?.spec.maxRuns === undefined ? 0 : known.runs;
  const schedule: Schedule = {
    ...{ id, spec, document },
    paused: known?.paused ?? isPaused,
    nextAt: untilEnd(spec, runs, nextAfterPut(context, known, spec)),
    lastAt: known?.lastAt ?? null,
    lastJobId: known?.lastJobId ?? null,
    runs,
    isWaiting: false,
    timerNo: known?.timerNo ?? 0,
  };
  state.schedules.set(id, schedule);
  state.declinedSchedules.delete(id);
  save(context, schedule);
  logChange(context, schedule, 'put');
  return schedule;
}

/** What is remembered of it is stored in its place; null for nothing. */
export function removeSchedule(
  context: StepContext,
  schedule: Schedule,
  remembered: DeclinedSchedule | null,
): void {
  const { state, effects } = context;
  const { id } = schedule;
  state.schedules.delete(id);
  if (remembered !== null) state.declinedSchedules.set(id, remembered);
  effects.schedule(id, remembered === null ? null : declinedRow(id, remembered));
  logChange(context, schedule, 'delete');
}

/** As many as there may be are there. */
export function isFullOfSchedules({
  schedules,
  declinedSchedules,
  settings,
}: SchedulerState): boolean {
  return schedules.size + declinedSchedules.size >= settings.schedulesMax;
}

/** Put again with the same timing it keeps its step, and fired occurrences do not come again: frequent deployments put
 * it often. One that has ended goes on if its end is another one now. */
function nextAfterPut(
  context: StepContext,
  known: Schedule | undefined,
  { timing, endAt, maxRuns }: ScheduleSpec,
): Instant | null {
  const isSame = JSON.stringify(known?.spec.timing) === JSON.stringify(timing);
  const hasSameEnd = known?.spec.endAt === endAt && known?.spec.maxRuns === maxRuns;
  if (known !== undefined && isSame && (known.nextAt !== null || hasSameEnd)) return known.nextAt;
  const last = known?.lastAt ?? context.now;
  if ('at' in timing) return timing.at === known?.lastAt ? null : timing.at;
  // Never again what has fired, even if the clock was set back since.
  return firstOccurrence(timing, last > context.now ? last : context.now, context.state.calendar);
}

export function changeSchedule(context: StepContext, event: ChangeSchedule): void {
  const { state } = context;
  const schedule = state.schedules.get(event.scheduleId);
  if (schedule === undefined) return context.refuse(event.ask, unknown(event.scheduleId));
  switch (event.change) {
    case 'delete':
      removeSchedule(context, schedule, asDeleted(schedule));
      return reply(context, event.ask, schedule, null);
    case 'pause':
      schedule.paused = true;
      logChange(context, schedule, 'pause');
      break;
    case 'resume':
      // What passed during the pause was meant to be left out: it is not a misfire.
      if (schedule.paused && schedule.nextAt !== null) {
        const { spec, runs, nextAt } = schedule;
        const next = resumedOccurrence(spec.timing, nextAt, context.now, state.calendar);
        schedule.nextAt = untilEnd(spec, runs, next);
        schedule.isWaiting = false;
      }
      schedule.paused = false;
      logChange(context, schedule, 'resume');
      break;
    case 'trigger':
      return trigger(context, event, schedule);
    default:
      return assertNever(event.change);
  }
  save(context, schedule);
  reply(context, event.ask, schedule, null);
}

/** A worker that registers does not bring back what somebody has deleted. */
function asDeleted({ spec }: Schedule): DeclinedSchedule | null {
  const { declared, flow = '' } = spec;
  return declared === true ? { flow, definition: definitionOf(spec), paused: false } : null;
}

/** If a singleton lives that is not to be replaced, the answer is that one. */
function trigger(context: StepContext, { ask }: ChangeSchedule, schedule: Schedule): void {
  const living = fire(context, schedule, context.now, { byHand: true });
  if (living instanceof MillraceError) return context.refuse(ask, living);
  save(context, schedule);
  reply(context, ask, schedule, living?.id ?? schedule.lastJobId);
}

/** Neither its next time nor the number of its runs changes. */
export function backfillSchedule(context: StepContext, event: BackfillSchedule): void {
  const { state, effects } = context;
  const schedule = state.schedules.get(event.scheduleId);
  if (schedule === undefined) return context.refuse(event.ask, unknown(event.scheduleId));
  const jobs: BackfilledJob[] = [];
  for (const at of event.times) {
    const jobId = backfilledJobId(schedule.id, at);
    const isThere = state.jobsById.has(jobId);
    const living = isThere ? null : start(context, schedule, { jobId, at }, { byHand: true });
    if (living instanceof MillraceError) return context.refuse(event.ask, living);
    jobs.push({ at, jobId: living?.id ?? jobId, isNew: !isThere && living === null });
  }
  effects.reply(event.ask, { type: 'backfilled', jobs });
}

/** The schedule's time has come, or its last job has ended while the next one was waiting. */
export function scheduleDue(context: StepContext, schedule: Schedule): void {
  const { state } = context;
  if (schedule.nextAt === null) return;
  // One that is only looked at again, with nothing left to do, is not running.
  const running = [...(state.jobsBySchedule.get(schedule.id) ?? [])].filter(
    // What catches up with the past is not in the way of what is due.
    (job) => job.open > 0 && !isBackfilled(job),
  );
  const { misfire, overlap } = schedule.spec;
  const hasWaited = schedule.isWaiting;
  // The next time stays due until the last job has ended: settle brings us back here.
  schedule.isWaiting = overlap === 'queue' && running.length > 0;
  if (schedule.isWaiting) return;
  const due = dueOccurrences(
    // To wait for the last job is not a misfire: one runs in any case.
    { ...schedule.spec, misfire: hasWaited && misfire === 'skip' ? 'once' : misfire },
    schedule.nextAt,
    context.now,
    state.calendar,
    state.settings.misfireGraceMs,
    state.settings.catchUpMax,
  );
  schedule.nextAt = due.nextAt;
  let { missed } = due;
  if (overlap === 'queue') {
    const [at, waiting] = due.fire;
    if (waiting !== undefined) schedule.nextAt = waiting;
    if (at !== undefined) fire(context, schedule, at);
  } else {
    // One job at a time: of several that are due at once, the newest is the one that matters.
    const at = due.fire.at(-1);
    const isHeldBack = overlap === 'skip' && running.length > 0;
    missed += due.fire.length - (at === undefined || isHeldBack ? 0 : 1);
    if (at !== undefined && !isHeldBack) replace(context, schedule, running, at);
  }
  schedule.nextAt = untilEnd(schedule.spec, schedule.runs, schedule.nextAt);
  if (missed > 0) logMissed(context, schedule, missed, due.missedExact);
  if (schedule.nextAt === null && hasEnd(schedule)) logChange(context, schedule, 'end');
  save(context, schedule);
}

function replace(
  context: StepContext,
  schedule: Schedule,
  running: readonly Job[],
  at: Instant,
): void {
  const message = `schedule ${schedule.id} has started its next run`;
  for (const job of running) {
    if (job.stopping === null) stopJob(context, job, 'cancel', { code: 'cancelled', message });
  }
  fire(context, schedule, at);
}

function fire(
  context: StepContext,
  schedule: Schedule,
  at: Instant,
  detail: { byHand?: true } = {},
): Job | MillraceError | null {
  const jobId = occurrenceJobId(schedule.id, at, context.state.nextJobNo);
  // By hand is not an occurrence: what has fired by time is still known to have.
  if (detail.byHand === undefined) schedule.lastAt = at;
  const inTheWay = start(context, schedule, { jobId, at }, detail);
  if (inTheWay !== null) {
    if (detail.byHand === undefined) logMissed(context, schedule, 1, true);
    return inTheWay;
  }
  schedule.lastJobId = jobId;
  if (detail.byHand === undefined) schedule.runs += 1;
  return null;
}

/** What stands in its way; null if it has started. */
function start(
  context: StepContext,
  schedule: Schedule,
  { jobId, at }: { readonly jobId: JobId; readonly at: Instant },
  detail: { byHand?: true },
): Job | MillraceError | null {
  const document = { ...schedule.document, idempotencyKey: null };
  const inTheWay = makeWay(context, jobId, document);
  if (inTheWay !== null) return inTheWay;
  const job = createJob(context, jobId, document, { scheduleId: schedule.id });
  context.logJob('schedule.fired', job, { schedule: schedule.id, at, ...detail });
  return null;
}

function hasEnd({ spec: { endAt, maxRuns } }: Schedule): boolean {
  return endAt !== undefined || maxRuns !== undefined;
}

function logMissed(context: StepContext, { id }: Schedule, missed: number, isExact: boolean): void {
  context.log('schedule.missed', null, { schedule: id, missed, atLeast: !isExact });
}

/** Observers learn from the log what to look at again. */
function logChange(context: StepContext, { id: schedule }: Schedule, change: string): void {
  context.log('schedule.changed', null, { schedule, change });
}

function save(context: StepContext, schedule: Schedule): void {
  context.effects.schedule(schedule.id, scheduleRow(schedule));
  armSchedule(context, schedule);
}

function reply(
  context: StepContext,
  ask: PutSchedule['ask'],
  schedule: Schedule,
  jobId: JobId | null,
): void {
  const { id: scheduleId, nextAt } = schedule;
  context.effects.reply(ask, { type: 'schedule', scheduleId, nextAt, jobId });
}

function textOf(schedule: Schedule | undefined): string | null {
  return schedule === undefined ? null : encodeScheduleSpec(schedule.spec);
}

function changed(id: ScheduleId): MillraceError {
  return new MillraceError({ code: 'conflict', what: `The schedule ${id} has changed meanwhile.` });
}

function unknown(id: ScheduleId): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no schedule ${id}.` });
}

function tooMany(max: number): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `The limit of ${max} schedules is reached.`,
    todo: 'Delete one, or raise the setting schedulesMax.',
  });
}
