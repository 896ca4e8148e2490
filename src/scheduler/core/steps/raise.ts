/** An event: it wakes the tasks that wait for it and cancels the jobs that name it. What it starts are submissions. */
import { stillLoading } from '../errors.ts';
import type { EventFate, WokenTask } from '../effects.ts';
import type { RaiseEvent, Raised, SentFromTask } from '../event.ts';
import type { JobId } from '../ids.ts';
import type { EventWait } from '../job/event-index.ts';
import type { Job } from '../job/job.ts';
import { shapeFault } from '../job/signal-shape.ts';
import type { Json } from '../json.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { takeEvent } from './awaited.ts';
import { makeWay } from './singleton.ts';
import { stopJob } from './stop.ts';
import { createJob } from './submit.ts';
import { stateOf, wake } from './wait.ts';

/** Tasks and jobs that one transaction takes. */
const RAISED_MAX = 1_000;
/** Each woken task gets a copy of the data. */
const BYTES_MAX = 4 * 1024 * 1024;

/** Why an event cannot be sent before all jobs are in memory. */
export const MAY_WAIT = 'some of which may wait for the event';

export function raise(context: StepContext, { ask, raised }: RaiseEvent): void {
  // Those that wait for it may be on their way into memory.
  if (!context.state.isComplete) return context.refuse(ask, stillLoading(MAY_WAIT));
  context.effects.reply(ask, { type: 'raised', ...deliver(context, raised) });
}

/** Every live job is in memory. */
function deliver(context: StepContext, raised: Raised): EventFate {
  const { eventWaits, cancels } = context.state;
  if (eventWaits.size + cancels.size === 0) return NOTHING;
  const data = JSON.parse(raised.data) as Json;
  const cancelled = cancelJobs(context, raised, data, RAISED_MAX);
  const { woken, full, isMore } = wakeTasks(context, raised, data, roomFor(raised));
  return { woken, cancelled, full, isMore: isMore || cancelled.length === RAISED_MAX };
}

/** All of it, with the step that says so. Those who wait are woken before others are made. */
export function sendFrom(context: StepContext, { raised, jobs }: SentFromTask): void {
  while (deliver(context, raised).isMore);
  for (const submitted of jobs) {
    const { jobId, document, ended: _, ...keys } = submitted;
    if (stateOf(context.state, submitted) !== null) continue;
    // Its id identifies it; but of singletons there is one, whoever starts it.
    if (makeWay(context, jobId, document) !== null) continue;
    const startedBy = { event: raised.name, id: raised.id };
    createJob(context, jobId, { ...document, idempotencyKey: null }, { ...keys, startedBy });
  }
}

/** Whether it means more tasks than one transaction should take. */
export function isMeaningMany(state: SchedulerState, raised: Raised): boolean {
  const { eventWaits, cancels } = state;
  if (eventWaits.size + cancels.size <= FEW) return false;
  const data = JSON.parse(raised.data) as Json;
  let count = 0;
  for (const { slot } of eventWaits.find(raised.name, data)) {
    const { signals } = state.tasks.job(slot);
    if (signals.has(takenId(raised, state.tasks.no(slot), 0))) continue;
    count += 1;
    if (count > roomFor(raised)) return true;
  }
  return false;
}

const FEW = 16;

function roomFor({ data }: Raised): number {
  return Math.min(RAISED_MAX, Math.max(FEW, Math.floor(BYTES_MAX / data.length)));
}

const NOTHING: EventFate = { woken: [], cancelled: [], full: [], isMore: false };

function cancelJobs(
  context: StepContext,
  { name, id }: Raised,
  data: Json,
  max: number,
): readonly JobId[] {
  const found = new Set<Job>();
  for (const job of context.state.cancels.find(name, data)) {
    if (job.open === 0 || job.stopping !== null) continue;
    const by = job.options.startedBy;
    // Sent again, it must not end what it has started.
    if (by !== null && 'event' in by && by.event === name && by.id === id) continue;
    found.add(job);
    if (found.size === max) break;
  }
  const message = `the event ${name} (${id}) has cancelled it`;
  for (const job of found) stopJob(context, job, 'cancel', { code: 'cancelled', message });
  return [...found].map((job) => job.id);
}

function wakeTasks(
  context: StepContext,
  raised: Raised,
  data: Json,
  max: number,
): Omit<EventFate, 'cancelled'> {
  const { state } = context;
  const { tasks, settings } = state;
  const bySlot = new Map<Slot, EventWait[]>();
  const full = new Set<Slot>();
  let isMore = false;
  for (const wait of state.eventWaits.find(raised.name, data)) {
    const { slot } = wait;
    if (!isMeant(context, wait, raised, data)) continue;
    if (tasks.job(slot).signals.count >= settings.signalsPerJobMax) {
      if (full.size < max) full.add(slot);
      continue;
    }
    const known = bySlot.get(slot);
    if (known === undefined && bySlot.size === max) {
      isMore = true;
      break;
    }
    if (known === undefined) bySlot.set(slot, [wait]);
    else known.push(wait);
  }
  for (const [slot, waits] of bySlot) take(context, slot, waits, raised);
  const named = (slot: Slot): WokenTask => ({ job: tasks.job(slot).id, task: tasks.id(slot) });
  return { woken: [...bySlot.keys()].map(named), full: [...full].map(named), isMore };
}

function isMeant(
  { state: { tasks }, now }: StepContext,
  { slot, wanted: { until, shape } }: EventWait,
  raised: Raised,
  data: Json,
): boolean {
  const job = tasks.job(slot);
  if (job.stopping !== null || job.signals.has(takenId(raised, tasks.no(slot), 0))) return false;
  if (until !== undefined && until <= now) return false;
  return shape === undefined || shapeFault(shape, data) === null;
}

/** A task takes an event once, whatever it waits for when the event is sent again. No user can choose such an id. */
function takenId({ name, id }: Raised, taskNo: number, nth: number): string {
  return `event/${name}/${id}/${taskNo}${nth === 0 ? '' : `/${nth}`}`;
}

function take(context: StepContext, slot: Slot, waits: readonly EventWait[], raised: Raised): void {
  const { tasks } = context.state;
  const taskNo = tasks.no(slot);
  const body = `{"value":${raised.data}}`;
  let isAsleep = false;
  for (const [nth, { wanted }] of waits.entries()) {
    const id = takenId(raised, taskNo, nth);
    isAsleep = takeEvent(context, slot, wanted, { id, body }) || isAsleep;
  }
  const job = tasks.job(slot);
  const detail = { name: waits[0]?.wanted.name, id: raised.id, takenBy: tasks.id(slot) };
  context.logJob('job.signalled', job, detail);
  if (isAsleep) wake(context, slot);
}
