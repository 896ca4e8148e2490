import { forgetFailures } from './retry-placement.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';

export interface NewRun {
  readonly kind: 'created' | 'recomputed';
  /** Carried over from the run before. */
  readonly losses: number;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** A new generation of the task: blocked, nothing counted yet, the old row kept in the history. */
export function newRun(context: StepContext, slot: Slot, how: NewRun = BY_HAND): void {
  const { tasks } = context.state;
  context.effects.archive({ jobNo: tasks.job(slot).no, taskNo: tasks.no(slot) });
  tasks.run.set(slot, tasks.run.get(slot) + 1);
  const { attempt, failures, losses, progress, queuedAt, startedAt, unmet } = tasks;
  for (const column of [attempt, failures, losses, progress, queuedAt, startedAt, unmet]) {
    column.set(slot, 0);
  }
  losses.set(slot, how.losses);
  forgetFailures(context.state, slot);
  tasks.setError(slot, null);
  tasks.setSince(slot, context.now);
  tasks.move(slot, 'blocked');
  context.writeTask(slot);
  context.logTask(how.kind, slot, null, how.detail);
}

const BY_HAND: NewRun = { kind: 'created', losses: 0 };
