/**
 * Which tasks take much longer than their siblings, and where there is room for a second attempt: see `duplicates.ts`.
 * Only for tasks that leave the same output whenever they run, and only on slots that nobody else can use.
 */
import { fragmentNo } from '../fragment.ts';
import { later } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { StageTimes } from '../job/stage-times.ts';
import type { Node } from '../node/node.ts';
import type { TaskRow } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import { isTerminal } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';

/** The task has succeeded, without a lease if it had nothing to do. */
export function noteTime(context: StepContext, slot: Slot, lease: Lease | undefined): void {
  const stage = stageOf(context.state, slot);
  if (stage === null) return;
  if (lease === undefined) stage.idle += 1;
  else stage.add(context.now - lease.since);
  if (stage.timerAt === null) armStragglers(context, slot, stage);
}

/** While half of the stage is done and the rest is not, the rest is looked at from time to time. */
function armStragglers(context: StepContext, slot: Slot, stage: StageTimes): void {
  const { state, now } = context;
  const { tasks } = state;
  const limitMs = limitOf(state, slot, stage);
  if (limitMs === null) return;
  let at = later(now, limitMs);
  let isOpen = false;
  for (const each of stage.slots) {
    if (isTerminal(tasks.state(each))) continue;
    isOpen = true;
    const lease = state.leases.get(each);
    if (lease?.duplicate !== 'none') continue;
    const due = later(lease.since, limitMs);
    if (due > now && due < at) at = due;
    if (due <= now) state.stragglers.add(each);
  }
  if (!isOpen) return;
  stage.timerAt = at;
  const no = fragmentNo(tasks.id(slot))?.stage ?? 0;
  state.timers.arm({ type: 'stragglers', at, jobNo: tasks.job(slot).no, stage: no });
}

export function stragglersDue(context: StepContext, stage: StageTimes): void {
  stage.timerAt = null;
  const [slot] = stage.slots;
  if (slot !== undefined) armStragglers(context, slot, stage);
}

/** A new leader knows when they were queued and when they were done: that is longer than they took, so it waits longer. */
export function restoreTimes(context: StepContext, job: Job, rows: readonly TaskRow[]): void {
  for (const { taskNo, state, fence, queuedAt, finishedAt } of rows) {
    const slot = job.slot(taskNo);
    const stage = slot === null ? null : stageOf(context.state, slot);
    if (slot === null || stage === null || state !== 'succeeded') continue;
    if (fence === 0) stage.idle += 1;
    else if (queuedAt !== null && finishedAt !== null) stage.add(finishedAt - queuedAt);
    if (stage.timerAt === null) armStragglers(context, slot, stage);
  }
}

/** From when on a task of the stage is a straggler; null while that is not known, or nobody wants to know. */
function limitOf(
  { tasks, settings }: SchedulerState,
  slot: Slot,
  stage: StageTimes,
): number | null {
  const factor = tasks.options(slot).stragglerFactor ?? settings.stragglerFactor;
  const { medianMs } = stage;
  if (factor === 0 || medianMs === null) return null;
  return Math.max(settings.stragglerMinMs, Math.ceil(medianMs * factor));
}

function stageOf({ tasks }: SchedulerState, slot: Slot): StageTimes | null {
  const { outputs } = tasks.job(slot);
  if (outputs === null || tasks.options(slot).output !== 'deterministic') return null;
  const no = fragmentNo(tasks.id(slot))?.stage;
  return no === undefined ? null : outputs.stage(no);
}

export interface SecondPlace {
  readonly node: Node;
  readonly original: Lease;
}

/** Stragglers for which there is a free slot now, one after the other: each is to be started before the next is asked
 * for. */
export function* placesForStragglers(context: StepContext): Iterable<SecondPlace> {
  const { stragglers, leases } = context.state;
  for (const slot of stragglers) {
    const original = leases.get(slot);
    if (original === undefined || !mayDuplicate(context, original)) {
      stragglers.delete(slot);
      continue;
    }
    const node = original.job.atLimit ? null : freeNode(context.state, original);
    if (node === null) continue;
    stragglers.delete(slot);
    yield { node, original };
  }
}

/** Asked again at every turn: the slot may be that of another task by now. */
function mayDuplicate({ state, now }: StepContext, lease: Lease): boolean {
  const { tasks, settings } = state;
  const { slot, job } = lease;
  const { outputs } = job;
  const stage = stageOf(state, slot);
  // The second fence of a lease that was loaded may have been given before.
  if (stage === null || outputs === null || lease.duplicate !== 'none') return false;
  if (lease.stopping !== null || job.stopping !== null) return false;
  if (outputs.duplicates >= settings.stragglersPerQuery) return false;
  // It may be what ends its nodes.
  if (tasks.exposures(slot) > 0 || tasks.requirement(slot).restriction.isAlone) return false;
  // What is counted or timed by attempts has one at a time; fragments of queries are not.
  if (tasks.limits(slot).length > 0 || tasks.key(slot) !== null) return false;
  if (tasks.options(slot).timeouts.runMs !== null) return false;
  const limitMs = limitOf(state, slot, stage);
  return limitMs !== null && later(lease.since, limitMs) <= now;
}

/** The one with the fewest leases, among those that wait for work and hold no straggler themselves. */
function freeNode(state: SchedulerState, { slot, node: first }: Lease): Node | null {
  const requirement = state.tasks.requirement(slot);
  let best: Node | null = null;
  for (const group of requirement.groups) {
    for (const node of group.waiting.all()) {
      if (node === first || !node.hasRoom || (requirement.isBulk && !node.mayTakeBulk)) continue;
      if (isSlow(state, node)) continue;
      if (best === null || node.leases.size < best.leases.size) best = node;
    }
  }
  return best;
}

function isSlow({ stragglers }: SchedulerState, { leases }: Node): boolean {
  for (let lease = leases.first; lease !== null; lease = lease.place.after)
    if (lease.duplicate === 'given' || stragglers.has(lease.slot)) return true;
  return false;
}

/** Of a timer; null when it was armed for something else. */
export function timedStage(job: Job | undefined, no: number, at: number): StageTimes | null {
  const stage = job?.outputs?.stage(no) ?? null;
  return stage?.timerAt === at ? stage : null;
}
