/** Back from rows to the document they were made from, for a fork. */
import { decodeDependencies } from '../job/edges.ts';
import { isBatchKey } from '../job/execution-key.ts';
import type { JobRow, TaskSpecRow } from '../rows.ts';
import type { Settings } from '../settings.ts';
import { taskNo } from '../ids.ts';
import type { TaskId, TaskNo } from '../ids.ts';
import type { JobDocument, TaskDocument } from './document.ts';
import { decodeJobOptions } from './job-options.ts';
import { decodeOptions, isAddedTask } from './options.ts';

/** `specs` in task number order, with their inputs. The idempotency key stays with the original. */
export function documentFromRows(
  job: JobRow,
  specs: readonly TaskSpecRow[],
  settings: Settings,
): JobDocument {
  const { name, priority, maxParallel, onFailure, totalMs, labels, output } = job;
  return {
    name,
    priority,
    maxParallel,
    onFailure,
    totalMs,
    labels,
    // A fork is asked for now.
    runAt: null,
    options: {
      ...decodeJobOptions(job.options),
      ...{ debounce: null, singleton: null, batch: null, trace: null },
    },
    output,
    idempotencyKey: null,
    tasks: specs.map((spec) => ({
      id: spec.id,
      executor: spec.executor,
      priority: spec.priority,
      parent: spec.parentNo,
      dependsOn: decodeDependencies(spec.dependsOn),
      // A fork runs by itself, without the batch of the original.
      idempotencyKey: isBatchKey(spec.idempotencyKey) ? null : spec.idempotencyKey,
      options: decodeOptions(spec.options, settings),
      ...(isAddedTask(spec.options) ? { isAdded: true } : {}),
      input: spec.input,
    })),
  };
}

/** A new job from the document of another one, in which some of it runs again. */
export interface Fork {
  readonly document: JobDocument;
  /** The tasks that do not run again: their number in the fork, and in the job that it is made of. */
  readonly taken: readonly { readonly no: TaskNo; readonly of: TaskNo }[];
}

/**
 * Runs `from` again, with everything that depends on it and what the document places under these.
 * What a task has added to the job while it ran is left out when that task runs again: it was made of
 * what the task was given then, and the new run adds its own. So it is for a task that runs again
 * because it did not succeed. Null when there is no task `from`.
 */
export function forkDocument(
  job: JobRow,
  specs: readonly TaskSpecRow[],
  settings: Settings,
  from: TaskId,
  hasSucceeded: (no: TaskNo) => boolean = () => true,
): Fork | null {
  const document = documentFromRows(job, specs, settings);
  const start = document.tasks.findIndex(({ id }) => id === from);
  if (start < 0) return null;
  const { again, left } = spread(document.tasks, start, hasSucceeded);
  const numbers = new Map<number, TaskNo>();
  for (const no of document.tasks.keys()) if (!left.has(no)) numbers.set(no, taskNo(numbers.size));
  const renumbered = (no: TaskNo): TaskNo => numbers.get(no) as TaskNo;
  const tasks: TaskDocument[] = [];
  const taken: { no: TaskNo; of: TaskNo }[] = [];
  for (const [of, no] of numbers) {
    const task = document.tasks[of] as TaskDocument;
    const dependsOn = task.dependsOn.map((each) => ({ ...each, no: renumbered(each.no) }));
    const parent = task.parent === null ? null : renumbered(task.parent);
    tasks.push({ ...task, parent, dependsOn });
    const isGiven = task.options.admission !== undefined;
    if (isGiven || !again.has(of)) taken.push({ no, of: taskNo(of) });
  }
  return { document: { ...document, tasks }, taken };
}

/** Its result refers to data on a node. */
function isKept(tasks: readonly TaskDocument[], no: number): boolean {
  return tasks[no]?.options.output !== undefined;
}

/** What runs again because of `start`, and what is left out because of that. */
function spread(
  tasks: readonly TaskDocument[],
  start: number,
  hasSucceeded: (no: TaskNo) => boolean,
): { readonly again: ReadonlySet<number>; readonly left: ReadonlySet<number> } {
  const dependents: number[][] = tasks.map(() => []);
  const children: number[][] = tasks.map(() => []);
  for (const [no, { dependsOn, parent }] of tasks.entries()) {
    for (const dependency of dependsOn) dependents[dependency.no]?.push(no);
    if (parent !== null) children[parent]?.push(no);
  }
  // What lies on nodes belongs to the job that made it, and goes with it. What was given with the job stays.
  const again = new Set([start, ...tasks.keys()].filter((no) => no === start || isKept(tasks, no)));
  const left = new Set<number>();
  // A set that grows while it is iterated: every reached task is visited once.
  for (const no of again) {
    for (const dependent of dependents[no] ?? []) again.add(dependent);
    for (const child of children[no] ?? []) {
      if (tasks[child]?.isAdded === true) left.add(child);
      else again.add(child);
    }
  }
  for (const [no, { parent, isAdded }] of tasks.entries()) {
    if (isAdded === true && parent !== null && !hasSucceeded(parent)) left.add(no);
  }
  for (const no of left) for (const child of children[no] ?? []) left.add(child);
  return { again, left };
}
