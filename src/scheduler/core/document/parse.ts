/**
 * From unknown JSON to a job document, or to an error that names the field, says what is wrong
 * and what to do. Everything is checked before anything is stored; what comes out needs no
 * further check anywhere.
 *
 * The work is bounded by the document's size: it is weighed first, ids are read next, then each
 * task against those ids, then the graph as a whole.
 */
import { taskNo, type Instant, type TaskId, type TaskNo } from '../ids.ts';
import type { Settings } from '../settings.ts';
import type { Priority } from '../task/chart.ts';
import { checkBatched } from './batched.ts';
import type { JobDocument, TaskDocument } from './document.ts';
import { findCycle, shownCycle } from './graph.ts';
import { JOB } from './grammar.ts';
import { readJobOptions } from './job-options.ts';
import { readLabels } from './labels.ts';
import { readStart } from './moment.ts';
import { Fields } from './reader.ts';
import { below, refuse, refuseSize } from './refuse.ts';
import { readPriority, readTask, readTaskId, taskFields, type Surroundings } from './task.ts';
import { checkSize, readTemplate } from './template.ts';
import { described } from './text.ts';
import { weigh } from './weigh.ts';
import { readWhenFailed } from './when-failed.ts';

const DEFAULT_JOB_NAME = 'job';
/** Normal: between high (1) and low (3). */
const DEFAULT_PRIORITY: Priority = 2;

/** `path` is the position of the document in the caller's input, for messages. */
export function parseJobDocument(value: unknown, settings: Settings, path = ''): JobDocument {
  return finished(jobDocumentReader(value, settings, path));
}

/** All portions at once. */
function finished<T>(reading: Generator<void, T>): T {
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** So many tasks are read in a millisecond or some. */
const PORTION = 2_000;

/** The same in portions: a document of many tasks takes a tenth of a second, for which others need not wait. */
export function* jobDocumentReader(
  value: unknown,
  settings: Settings,
  path = '',
): Generator<void, JobDocument> {
  const fields: Fields = Fields.of(value, path, 'A job document', JOB);
  const list = fields.raw('tasks');
  const isLarge = Array.isArray(list) && list.length > PORTION;
  if (isLarge) yield;
  weighDocument(value, settings, path);
  if (isLarge) yield;
  const priority = readPriority(fields) ?? DEFAULT_PRIORITY;
  const tasks = fields.list('tasks');
  if (tasks === undefined) fields.missing('tasks', 'A job has at least one task.');
  if (tasks.length === 0)
    refuse(fields.at('tasks'), 'The list is empty.', 'A job has at least one task.');
  const usual = readJobOptions(fields);
  const whenFailed = readWhenFailed(fields, settings, priority);
  const options = whenFailed === null ? usual : { ...usual, whenFailed };
  const graph = yield* readGraph(fields, tasks, settings, priority);
  if (options.batch !== null) checkBatched(fields, graph.tasks);
  return {
    name: fields.name('name') ?? DEFAULT_JOB_NAME,
    priority,
    idempotencyKey: fields.name('idempotencyKey') ?? null,
    maxParallel: fields.whole('maxParallel'),
    onFailure: fields.choice<JobDocument['onFailure']>('onFailure') ?? 'finish',
    labels: readLabels(fields.raw('labels'), fields.at('labels')),
    runAt: readRunAt(fields),
    options,
    totalMs: fields.inner('timeouts')?.whole('totalMs') ?? null,
    ...graph,
  };
}

export function weighDocument(value: unknown, settings: Settings, path = ''): number {
  // An input stands three levels deep: document, tasks, task.
  return weigh(value, path, 'The job document', 3, settings.documentBytesMax);
}

function readRunAt(fields: Fields): Instant | null {
  const value = fields.raw('runAt');
  return value === undefined ? null : readStart(value, () => fields.at('runAt'));
}

function* readGraph(
  fields: Fields,
  list: readonly unknown[],
  settings: Settings,
  priority: Priority,
): Generator<void, Pick<JobDocument, 'tasks' | 'output'>> {
  const tasks = yield* readTasks(list, fields.at('tasks'), settings, NOTHING, priority);
  const value = fields.raw('output') ?? null;
  if (value === null) return { tasks, output: null };
  const ids = new Set<string>(tasks.map(({ id }) => id));
  const path = fields.at('output');
  const output = readTemplate(value, path, {
    mayName: (id) => ids.has(id),
    ids: () => ids,
    fault: 'is not a task of this job',
    todo: 'The output is made of results of the tasks of this document.',
  });
  checkSize(output, path, 'The output', settings.inputBytesMax);
  return { tasks, output };
}

/** The tasks that a running job has already, by id. A `Map` will do. */
export interface KnownTasks {
  readonly size: number;
  get(id: string): TaskNo | undefined;
  /** Those that may be added again, because an attempt that is repeated adds the same ones. None
   * unless it says so. */
  mayExist?(id: string): boolean;
}

const NOTHING: KnownTasks = new Map<string, TaskNo>();

/**
 * Tasks to add to a running job. They are numbered on from the known ones and depend on one
 * another only; a parent may be new or known. `priority` is for those that name none.
 */
export function parseTaskDocuments(
  value: unknown,
  settings: Settings,
  known: KnownTasks,
  priority: Priority = DEFAULT_PRIORITY,
): readonly TaskDocument[] {
  const path = '';
  if (!Array.isArray(value)) refuse(path, `Tasks must be a list, not ${described(value)}.`);
  weigh(value, path, 'The list of tasks', 2, settings.documentBytesMax);
  const reading = readTasks(value as readonly unknown[], path, settings, known, priority);
  return finished(reading);
}

function* readTasks(
  list: readonly unknown[],
  path: string,
  settings: Settings,
  known: KnownTasks,
  priority: Priority,
): Generator<void, readonly TaskDocument[]> {
  refuseCrowd(list.length, 0, path, settings);
  const tasks: Fields[] = [];
  // By place: a list with holes has no task there.
  for (let at = 0; at < list.length; at += 1) tasks.push(taskFields(list[at], below(path, at)));
  if (list.length > PORTION) yield;
  const siblings = readIds(tasks, known);
  let fresh = 0;
  for (const id of siblings.keys()) if (known.get(id) === undefined) fresh += 1;
  refuseCrowd(fresh, known.size, path, settings);
  const around: Surroundings = {
    settings,
    priority,
    siblings,
    existing: (id) => known.get(id),
    firstNo: known.size,
    // A task alone cannot depend on anything.
    namedBy: list.length === 1 ? NOBODY : new Int32Array(list.length).fill(-1),
    options: null,
  };
  const documents: TaskDocument[] = [];
  for (const [id, no] of siblings) {
    if (documents.length > 0 && documents.length % PORTION === 0) yield;
    documents.push(readTask(tasks[no - known.size] as Fields, id, no, around));
  }
  if (documents.length > 1) refuseCycles(tasks, documents, known.size);
  return documents;
}

const NOBODY: Int32Array = new Int32Array(0);

function refuseCrowd(count: number, already: number, path: string, settings: Settings): void {
  if (count === 0 || count + already <= settings.tasksPerJobMax) return;
  const onTop = already === 0 ? '' : ` on top of ${already}`;
  refuseSize(
    path,
    `${count} tasks${onTop} exceed the limit of ${settings.tasksPerJobMax} tasks per job.`,
    'Split the work into several jobs.',
  );
}

/** In document order, like the tasks. */
function readIds(tasks: readonly Fields[], known: KnownTasks): ReadonlyMap<TaskId, TaskNo> {
  const siblings = new Map<TaskId, TaskNo>();
  tasks.forEach((task, at) => {
    const id = readTaskId(task);
    if (known.get(id) !== undefined && known.mayExist?.(id) !== true) {
      refuse(task.at('id'), `The job has a task '${id}' already.`, 'Choose another id.');
    }
    const first = siblings.get(id);
    if (first !== undefined) {
      refuse(
        task.at('id'),
        `The id '${id}' is already used by the task at index ${first - known.size}.`,
        'Give each task an id of its own.',
      );
    }
    siblings.set(id, taskNo(known.size + at));
  });
  return siblings;
}

function refuseCycles(
  tasks: readonly Fields[],
  documents: readonly TaskDocument[],
  firstNo: number,
): void {
  const shown = (cycle: readonly number[]): string =>
    shownCycle(cycle.map((place) => documents[place]?.id ?? ''));
  const waits = documents.map((task) => task.dependsOn.map(({ no }) => no - firstNo));
  const circle = findCycle(waits);
  if (circle !== null) {
    const [from, to] = [circle[0] as number, circle[1] as number];
    const edge = (waits[from] as readonly number[]).indexOf(to);
    refuse(
      below((tasks[from] as Fields).at('dependsOn'), edge),
      `The dependencies form a cycle: ${shown(circle)}.`,
      'None of these tasks could ever start; remove one of the dependencies.',
    );
  }
  if (documents.every((task) => task.parent === null)) return;
  // A parent that was there before the new tasks cannot lie on a cycle with them.
  const parents = documents.map(({ parent }) =>
    parent === null || parent < firstNo ? [] : [parent - firstNo],
  );
  const family = findCycle(parents);
  if (family === null) return;
  refuse(
    (tasks[family[0] as number] as Fields).at('parent'),
    `The parents form a cycle: ${shown(family)}.`,
    'A task cannot be its own ancestor.',
  );
}
