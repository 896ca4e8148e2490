/**
 * Execution keys: of all tasks that name one, one executes at a time; the first success is the
 * result of all. When the owner does not succeed, the oldest waiter inherits.
 */
import { invariant } from '../errors.ts';
import { ExecutionKey, isBatchScope, keyScope } from '../job/execution-key.ts';
import type { TaskRef } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { TerminalState } from '../task/chart.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';

/** What the store knows of a key that no task in memory has named so far. */
export interface KeyInStore {
  readonly completed: boolean;
  /** Its job may still be on its way into memory. */
  readonly owner: TaskRef | null;
}

export const UNKNOWN_KEY: KeyInStore = { completed: false, owner: null };

/** The shared key, with one more task that names it. */
export function nameKey(
  state: SchedulerState,
  executor: string,
  name: string,
  inStore: KeyInStore,
): ExecutionKey {
  const scope = keyScope(executor, name);
  let key = state.keys.get(scope);
  if (key === undefined) {
    const settled = state.keysWhileReading?.get(scope);
    key = new ExecutionKey(scope, settled?.completed ?? inStore.completed);
    key.owner = settled === undefined ? inStore.owner : null;
    state.keys.set(scope, key);
  }
  key.tasks += 1;
  return key;
}

export function unnameKey(state: SchedulerState, key: ExecutionKey): void {
  key.tasks -= 1;
  invariant(key.tasks >= 0, 'an execution key has no fewer than no tasks');
  if (key.tasks === 0) state.keys.delete(key.scope);
}

/** `ours`: execute. `waits`: another task executes. `completed`: the result exists. */
export function claimKey(context: StepContext, slot: Slot): 'ours' | 'waits' | 'completed' {
  const { tasks } = context.state;
  const key = tasks.key(slot);
  if (key === null || owns(context.state, key, slot)) return 'ours';
  // What ran in a batch runs again by itself: nobody else is given its items.
  if (tasks.run.get(slot) > 1 && isBatchScope(key, tasks.requirement(slot).executor)) return 'ours';
  if (key.completed) return 'completed';
  if (key.owner !== null) {
    key.waiters.add(slot);
    return 'waits';
  }
  key.owner = { jobNo: tasks.job(slot).no, taskNo: tasks.no(slot) };
  context.state.keysWhileReading?.delete(key.scope);
  context.effects.key(key.scope, {
    scope: key.scope,
    state: 'pending',
    ...key.owner,
    result: null,
    updatedAt: context.now,
  });
  return 'ours';
}

const NO_SLOTS: readonly Slot[] = [];

/** The task has ended: completes its key or gives it up. Returns the tasks that may continue because of it. */
export function settleKey(
  context: StepContext,
  slot: Slot,
  to: TerminalState,
  result: string | null,
): readonly Slot[] {
  const key = context.state.tasks.key(slot);
  if (key === null) return NO_SLOTS;
  key.waiters.delete(slot);
  if (!owns(context.state, key, slot) || key.owner === null) return [];
  const { owner } = key;
  key.owner = null;
  context.state.keysWhileReading?.set(key.scope, { completed: to === 'succeeded' });
  const waiters = [...key.waiters];
  if (to !== 'succeeded') {
    context.effects.key(key.scope, null);
    const [heir] = waiters;
    if (heir === undefined) return [];
    key.waiters.delete(heir);
    return [heir];
  }
  key.completed = true;
  key.waiters.clear();
  context.effects.key(key.scope, {
    scope: key.scope,
    state: 'completed',
    jobNo: owner.jobNo,
    taskNo: owner.taskNo,
    result,
    updatedAt: context.now,
  });
  return waiters;
}

export function owns(state: SchedulerState, key: ExecutionKey, slot: Slot): boolean {
  const { owner } = key;
  if (owner === null) return false;
  return owner.jobNo === state.tasks.job(slot).no && owner.taskNo === state.tasks.no(slot);
}

/** The execution keys of these tasks, and of all that wait for the end of one of them: those that
 * added it to their job, those that called its job, and so on upwards. */
export function keysAbove(
  { tasks, callers }: SchedulerState,
  slots: Iterable<Slot>,
): ReadonlySet<string> {
  const scopes = new Set<string>();
  const line = new Set(slots);
  for (const each of line) {
    const key = tasks.key(each);
    if (key !== null) scopes.add(key.scope);
    const above = tasks.awaitedBy(each);
    if (above !== null) line.add(above);
    for (const caller of callers.get(tasks.job(each).id) ?? []) line.add(caller);
  }
  return scopes;
}
