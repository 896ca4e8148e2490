/**
 * Tasks that a running task adds to its job: the elements of a map, the parts of a fan-out.
 *
 * The parent is then suspended until its children have ended: all those that wait for nothing,
 * whichever attempt added them. This can be read from the rows alone, so a new leader counts the
 * same ones; and a task that waits for its own parent, as a dependency or for its execution key,
 * cannot lock the two up.
 */
import type { SuspendUntil } from '../event.ts';
import { keyScope } from '../job/execution-key.ts';
import type { Job } from '../job/job.ts';
import type { TaskError } from '../rows.ts';
import type { Lease } from '../task/lease.ts';
import { isTerminal } from '../task/chart.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { keysAbove } from './keys.ts';
import { newRun } from './new-run.ts';
import { addTask, armTaskTotal, insertTask, keyInStore } from './submit.ts';

type Children = Extract<SuspendUntil, { type: 'children' }>;

/** Why the job cannot take these children in; null if it can. */
export function childrenFault(
  context: StepContext,
  lease: Lease,
  children: Children,
): TaskError | null {
  const { tasks, settings, callers } = context.state;
  const { job, taskNo: parent } = lease;
  const held = keysAbove(context.state, callers.get(job.id) ?? []);
  let fresh = 0;
  for (const { id, dependsOn, executor, idempotencyKey } of children.tasks) {
    if (dependsOn.length > 0) return fault(`child ${id} depends on others, which it may not`);
    if (idempotencyKey !== null && held.has(keyScope(executor, idempotencyKey))) {
      return fault(`child ${id} would wait for a key that the caller of its job holds`);
    }
    const no = job.taskNo(id, tasks);
    const slot = no === null ? null : job.slot(no);
    if (slot === null) fresh += 1;
    else if (tasks.parent(slot) !== parent) return fault(`${id} is another task of the job`);
  }
  const count = job.slots.length + fresh;
  if (fresh === 0 || count <= settings.tasksPerJobMax) return null;
  return fault(`with these children the job would have ${count} tasks, more than tasksPerJobMax`);
}

function fault(message: string): TaskError {
  return { code: 'bad_children', message };
}

/**
 * Idempotent by id: an attempt that is repeated finds the children of the last one. Those that
 * succeeded stay; those that did not get a new run while they have had fewer than their parent.
 * Returns what is to be made ready.
 */
export function adoptChildren(
  context: StepContext,
  lease: Lease,
  children: Children,
): readonly Slot[] {
  const { job } = lease;
  const before = job.slots.length;
  const waking: Slot[] = [];
  for (const given of children.tasks) {
    const no = job.taskNo(given.id, context.state.tasks);
    const known = no === null ? null : job.slot(no);
    if (known === null) waking.push(add(context, job, lease, given, children));
    else if (isStale(context, lease, known)) {
      newRun(context, known);
      armTaskTotal(context, known);
      waking.push(known);
    }
  }
  if (job.slots.length > before) context.writeJob(job);
  return waking;
}

function add(
  context: StepContext,
  job: Job,
  { taskNo: parent }: Lease,
  given: Children['tasks'][number],
  children: Children,
): Slot {
  const document = { ...given, parent, isAdded: true } as const;
  const slot = addTask(context.state, job, document, keyInStore(document, children));
  context.state.tasks.opened(slot);
  insertTask(context, slot, document);
  context.writeTask(slot);
  armTaskTotal(context, slot);
  return slot;
}

function isStale(context: StepContext, parent: Lease, child: Slot): boolean {
  const { tasks } = context.state;
  const state = tasks.state(child);
  if (!isTerminal(state) || state === 'succeeded') return false;
  return tasks.run.get(child) < tasks.run.get(parent.slot);
}
