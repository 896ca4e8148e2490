/**
 * Schedules fire exactly once a time in the cluster: the job and the schedule's next time are one
 * transaction of the one leader.
 */
import { MillraceError, assertNever } from '../errors.ts';
import type { ChangeSchedule, PutSchedule } from '../event.ts';
import type { Instant, JobId, ScheduleId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import { occurrenceJobId } from '../schedule/occurrence.ts';
import { dueOccurrences, firstOccurrence, resumedOccurrence } from '../schedule/schedule.ts';
import type { Timing } from '../schedule/schedule.ts';
import type { Schedule } from '../schedule/state.ts';
import { scheduleRow } from '../schedule/state.ts';
import type { Turn } from '../turn.ts';
import { armSchedule } from './schedule-timer.ts';
import { stopJob } from './stop.ts';
import { createJob } from './submit.ts';

export function putSchedule(turn: Turn, event: PutSchedule): void {
  const { state } = turn;
  const known = state.schedules.get(event.scheduleId);
  if (known === undefined && state.schedules.size >= state.settings.schedulesMax) {
    return turn.refuse(event.ask, tooMany(state.settings.schedulesMax));
  }
  const schedule: Schedule = {
    id: event.scheduleId,
    spec: event.spec,
    document: event.document,
    paused: known?.paused ?? false,
    nextAt: nextAfterPut(turn, known, event.spec.timing),
    lastAt: known?.lastAt ?? null,
    lastJobId: known?.lastJobId ?? null,
    isWaiting: false,
    timerNo: known?.timerNo ?? 0,
  };
  state.schedules.set(schedule.id, schedule);
  save(turn, schedule);
  logChange(turn, schedule, 'put');
  reply(turn, event.ask, schedule, null);
}

/** Put again without another timing it keeps its step, and what has fired already does not come
 * again: whoever deploys often puts often. */
function nextAfterPut(turn: Turn, known: Schedule | undefined, timing: Timing): Instant | null {
  const isSame = JSON.stringify(known?.spec.timing) === JSON.stringify(timing);
  if (known !== undefined && isSame) return known.nextAt;
  const last = known?.lastAt ?? turn.now;
  if ('at' in timing) return timing.at === known?.lastAt ? null : timing.at;
  // Never again what has fired, even if the clock was set back since.
  return firstOccurrence(timing, last > turn.now ? last : turn.now, turn.state.calendar);
}

export function changeSchedule(turn: Turn, event: ChangeSchedule): void {
  const { state } = turn;
  const schedule = state.schedules.get(event.scheduleId);
  if (schedule === undefined) return turn.refuse(event.ask, unknown(event.scheduleId));
  switch (event.change) {
    case 'delete':
      state.schedules.delete(schedule.id);
      turn.effects.schedule(schedule.id, null);
      logChange(turn, schedule, 'delete');
      return reply(turn, event.ask, schedule, null);
    case 'pause':
      schedule.paused = true;
      logChange(turn, schedule, 'pause');
      break;
    case 'resume':
      // What passed during the pause was meant to be left out: it is not a misfire.
      if (schedule.paused && schedule.nextAt !== null) {
        const { timing } = schedule.spec;
        schedule.nextAt = resumedOccurrence(timing, schedule.nextAt, turn.now, state.calendar);
        schedule.isWaiting = false;
      }
      schedule.paused = false;
      logChange(turn, schedule, 'resume');
      break;
    case 'trigger':
      fire(turn, schedule, turn.now, { byHand: true });
      break;
    default:
      return assertNever(event.change);
  }
  save(turn, schedule);
  reply(turn, event.ask, schedule, event.change === 'trigger' ? schedule.lastJobId : null);
}

/** The schedule's time has come, or its last job has ended while the next one was waiting. */
export function scheduleDue(turn: Turn, schedule: Schedule): void {
  const { state } = turn;
  if (schedule.nextAt === null) return;
  // One that is only looked at again, with nothing left to do, is not running.
  const running = [...(state.jobsBySchedule.get(schedule.id) ?? [])].filter(({ open }) => open > 0);
  const { timing, misfire, overlap } = schedule.spec;
  const hasWaited = schedule.isWaiting;
  // The next time stays due until the last job has ended: settle brings us back here.
  schedule.isWaiting = overlap === 'queue' && running.length > 0;
  if (schedule.isWaiting) return;
  const due = dueOccurrences(
    // To wait for the last job is not a misfire: one runs in any case.
    { timing, misfire: hasWaited && misfire === 'skip' ? 'once' : misfire },
    schedule.nextAt,
    turn.now,
    state.calendar,
    state.settings.misfireGraceMs,
    state.settings.catchUpMax,
  );
  schedule.nextAt = due.nextAt;
  let { missed } = due;
  if (overlap === 'queue') {
    const [at, waiting] = due.fire;
    if (waiting !== undefined) schedule.nextAt = waiting;
    if (at !== undefined) fire(turn, schedule, at);
  } else {
    // One job at a time: of several that are due at once, the newest is the one that matters.
    const at = due.fire.at(-1);
    const isHeldBack = overlap === 'skip' && running.length > 0;
    missed += due.fire.length - (at === undefined || isHeldBack ? 0 : 1);
    if (at !== undefined && !isHeldBack) replace(turn, schedule, running, at);
  }
  if (missed > 0) {
    const detail = { schedule: schedule.id, missed, atLeast: !due.missedExact };
    turn.log('schedule.missed', {}, detail);
  }
  save(turn, schedule);
}

function replace(turn: Turn, schedule: Schedule, running: readonly Job[], at: Instant): void {
  const message = `schedule ${schedule.id} has started its next run`;
  for (const job of running) {
    if (job.stopping === null) stopJob(turn, job, 'cancel', { code: 'cancelled', message });
  }
  fire(turn, schedule, at);
}

function fire(turn: Turn, schedule: Schedule, at: Instant, detail: { byHand?: true } = {}): void {
  const jobId = occurrenceJobId(schedule.id, at, turn.state.nextJobNo);
  // By hand is not an occurrence: what has fired by time is still known to have.
  if (detail.byHand === undefined) schedule.lastAt = at;
  schedule.lastJobId = jobId;
  const document = { ...schedule.document, idempotencyKey: null };
  const job = createJob(turn, jobId, document, { scheduleId: schedule.id });
  turn.log('schedule.fired', { job }, { schedule: schedule.id, at, ...detail });
}

/** Observers learn from the log what to look at again. */
function logChange(turn: Turn, { id: schedule }: Schedule, change: string): void {
  turn.log('schedule.changed', {}, { schedule, change });
}

function save(turn: Turn, schedule: Schedule): void {
  turn.effects.schedule(schedule.id, scheduleRow(schedule));
  armSchedule(turn, schedule);
}

function reply(turn: Turn, ask: PutSchedule['ask'], schedule: Schedule, jobId: JobId | null): void {
  const { id: scheduleId, nextAt } = schedule;
  turn.effects.reply(ask, { type: 'schedule', scheduleId, nextAt, jobId });
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
