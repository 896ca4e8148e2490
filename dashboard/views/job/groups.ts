/** Fan-outs: many similar tasks are one line, and one box of the graph, until it is opened. */
import type { JobShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import type { TaskState } from '../../../src/scheduler/core/index.ts';

export interface TaskGroup {
  readonly id: string;
  readonly title: string;
  readonly tasks: readonly TaskShape[];
}

export type Item =
  | { readonly kind: 'task'; readonly task: TaskShape }
  | { readonly kind: 'group'; readonly group: TaskGroup };

const ALIKE_MIN = 6;

/** `split.chunk.17` is one of `split.chunk.*`; it must also have the same code and the same dependencies. */
function familyOf(task: TaskShape): string | null {
  const [, stem] = /^(.*?[^\d])\d+$/.exec(task.id) ?? [];
  if (stem === undefined) return null;
  return JSON.stringify([
    stem,
    task.executor,
    task.parent,
    task.dependsOn.length > 8 ? task.dependsOn.length : task.dependsOn,
  ]);
}

/** In the order of the tasks; a group stands where its first task does. */
export function grouped(tasks: readonly TaskShape[], open: ReadonlySet<string>): readonly Item[] {
  const families = new Map<string, TaskShape[]>();
  for (const task of tasks) {
    const family = familyOf(task);
    if (family === null) continue;
    const known = families.get(family);
    if (known === undefined) families.set(family, [task]);
    else known.push(task);
  }
  const shown = new Set<string>();
  return tasks.flatMap((task): Item[] => {
    const family = familyOf(task);
    const members = family === null ? undefined : families.get(family);
    if (family === null || members === undefined || members.length < ALIKE_MIN)
      return [{ kind: 'task', task }];
    const isFirst = !shown.has(family);
    shown.add(family);
    const title = `${(/^(.*?[^\d])\d+$/.exec(task.id) ?? [])[1] ?? task.id}*`;
    const head: Item[] = isFirst
      ? [{ kind: 'group', group: { id: title, title, tasks: members } }]
      : [];
    return open.has(title) ? [...head, { kind: 'task', task }] : head;
  });
}

export function tally(tasks: readonly TaskShape[]): Readonly<Record<TaskState, number>> {
  const counts: Record<TaskState, number> = {
    blocked: 0,
    ready: 0,
    delayed: 0,
    running: 0,
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    skipped: 0,
  };
  for (const { state } of tasks) counts[state] += 1;
  return counts;
}

/** What is most worth knowing of many. */
export function stateOfMany(tasks: readonly TaskShape[]): TaskState {
  const counts = tally(tasks);
  const order: readonly TaskState[] = [
    'failed',
    'running',
    'delayed',
    'ready',
    'blocked',
    'cancelled',
    'skipped',
  ];
  return order.find((state) => counts[state] > 0) ?? 'succeeded';
}

/** Everything that depends on a task, however far down. */
export function belowOf(job: JobShape, task: string): readonly TaskShape[] {
  const below = new Set<string>([task]);
  for (let size = 0; size < below.size;) {
    size = below.size;
    for (const { id, dependsOn } of job.tasks)
      if (dependsOn.some((each) => below.has(each))) below.add(id);
  }
  below.delete(task);
  return job.tasks.filter(({ id }) => below.has(id));
}

/** The tasks under any of these, as parents and children, however far down. */
export function descendantsOf(job: JobShape, parents: readonly TaskShape[]): readonly TaskShape[] {
  const found = new Set<string>(parents.map(({ id }) => id));
  const own = new Set(found);
  for (let size = 0; size < found.size;) {
    size = found.size;
    for (const { id, parent } of job.tasks) if (parent !== null && found.has(parent)) found.add(id);
  }
  return job.tasks.filter(({ id }) => found.has(id) && !own.has(id));
}
