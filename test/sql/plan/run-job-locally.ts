/**
 * Runs a query's job on one node, task by task in the order of their dependencies, as workers would: inputs are resolved
 * from the results of the tasks before, a real engine writes and reads real Parquet files. No scheduler, no network.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  DECISION_EXECUTORS,
  defaultSettings,
  resolveInput,
  type Json,
  type TaskDocument,
  type TaskId,
} from '../../../src/scheduler/core/index.ts';
import type { FragmentEngine } from '../../../src/sql/engine/index.ts';
import {
  decide,
  decoded,
  queryJob,
  type FragmentTask,
  type PinnedTable,
  type QueryPlan,
} from '../../../src/sql/plan/index.ts';

export interface LocalResult {
  /** Of the last stage, in order. */
  readonly files: readonly string[];
  /** A query that gives their rows, in order where there is one. */
  readonly query: string;
}

/** What is decided depends on it; here tasks run one after the other all the same. */
const SLOTS = 3;

/** Runs it in `folder`, where the files stay. */
export async function runJobLocally(
  engine: FragmentEngine,
  plan: QueryPlan,
  tables: readonly PinnedTable[],
  folder: string,
): Promise<LocalResult> {
  const { document, seeds } = queryJob(plan, tables, defaultSettings);
  const results = new Map<TaskId, Json>();
  const files = new Map<string, readonly (readonly string[])[]>();
  const fragments = document.tasks.filter(({ executor }) => !DECISION_EXECUTORS.has(executor));
  for (const task of inOrder(document.tasks, fragments)) {
    const seed = [...seeds].find(([at]) => document.tasks[at] === task)?.[1];
    if (seed !== undefined) {
      results.set(task.id, JSON.parse(seed.result ?? 'null') as Json);
      continue;
    }
    const ended = endedBy(document, task, results);
    if (ended !== undefined) {
      results.set(task.id, ended);
      continue;
    }
    const known = new Set(task.dependsOn.map((dependency) => document.tasks[dependency.no]?.id));
    const result = (id: TaskId): Json | undefined => {
      if (!known.has(id)) throw new Error(`${task.id} reads ${id} without waiting for it`);
      const found = results.get(id) ?? decided(document.tasks, id, results);
      if (found !== undefined) results.set(id, found);
      return found;
    };
    const resolved = resolveInput(task.input, result, () => 'succeeded');
    if (!resolved.ok) throw new Error(resolved.error?.message ?? resolved.skipped ?? '');
    const own = join(folder, task.id);
    mkdirSync(own, { recursive: true });
    const { order, parts, keys } = await runTask(engine, resolved.input, files, own);
    files.set(task.id, parts);
    const place = { node: 'n', address: null, folder: own, index: '', epoch: 1, layout: 1 };
    const at = { task: task.id, fence: 1, ...place };
    results.set(task.id, { at, parts: order, ...(keys === undefined ? {} : { keys }) });
  }
  return resultOf(plan, files);
}

/** Each behind all that it depends on. A task that would wait for itself is an error. */
function inOrder(
  all: readonly TaskDocument[],
  fragments: readonly TaskDocument[],
): readonly TaskDocument[] {
  const ordered = new Set<TaskDocument>();
  const open = new Set<TaskDocument>();
  const visit = (task: TaskDocument): void => {
    if (ordered.has(task)) return;
    if (open.has(task)) throw new Error(`${task.id} waits for itself`);
    open.add(task);
    for (const { no } of task.dependsOn) visit(all[no] as TaskDocument);
    open.delete(task);
    ordered.add(task);
  };
  for (const task of fragments) visit(task);
  return [...ordered].filter((task) => fragments.includes(task));
}

/** What the leader answers for a task that has nothing to do because of a decision that it waits for. */
function endedBy(
  { tasks }: { readonly tasks: readonly TaskDocument[] },
  { id, dependsOn }: TaskDocument,
  results: ReadonlyMap<TaskId, Json>,
): Json | undefined {
  for (const { no } of dependsOn) {
    const answers = decision(tasks, tasks[no]?.id as TaskId, results)?.done ?? [];
    const own = answers.find(({ taskId }) => taskId === id);
    if (own !== undefined) return JSON.parse(own.result) as Json;
  }
  return undefined;
}

/** What the leader decides as soon as all that it depends on has ended. */
function decided(
  tasks: readonly TaskDocument[],
  id: TaskId,
  results: ReadonlyMap<TaskId, Json>,
): Json | undefined {
  const made = decision(tasks, id, results);
  return made === undefined ? undefined : (JSON.parse(made.result) as Json);
}

function decision(
  tasks: readonly TaskDocument[],
  id: TaskId,
  results: ReadonlyMap<TaskId, Json>,
): ReturnType<typeof decide> | undefined {
  const task = tasks.find((each) => each.id === id && DECISION_EXECUTORS.has(each.executor));
  if (task === undefined) return undefined;
  const input = resolveInput(
    task.input,
    (other) => results.get(other) ?? decided(tasks, other, results),
    () => 'succeeded',
  );
  if (!input.ok) throw new Error(input.error?.message ?? input.skipped ?? '');
  return decide(input.input, SLOTS);
}

async function runTask(
  engine: FragmentEngine,
  input: Json,
  files: ReadonlyMap<string, readonly (readonly string[])[]>,
  folder: string,
): Promise<{
  readonly order: readonly Json[];
  readonly parts: readonly (readonly string[])[];
  readonly keys: Json | undefined;
}> {
  const { reads, ...task } = input as unknown as FragmentTask;
  const inputs = Object.fromEntries(
    Object.entries(reads).map(([relation, list]) => [
      relation,
      list.flatMap(({ at, partition }) => files.get(at.task)?.[partition] ?? []),
    ]),
  );
  const order = { ...task, inputs, folder };
  const { parts, keys } = await engine.run(order, AbortSignal.timeout(60_000));
  return {
    keys: task.keys === undefined ? undefined : (keys as unknown as Json),
    // Sizes as they may be: for what is decided from them, not for what is read.
    order: parts.map(({ rows }) => ({ rows, bytes: rows * 100, segments: [] })),
    parts: parts.map((part) => part.files.map((file) => join(folder, file))),
  };
}

function resultOf(
  { stages }: QueryPlan,
  made: ReadonlyMap<string, readonly (readonly string[])[]>,
): LocalResult {
  const last = stages.at(-1) as QueryPlan['stages'][number];
  const files = Array.from(
    { length: last.tasks },
    (_, task) => made.get(`s${last.id}.${task}`)?.[0] ?? [],
  ).flat();
  const list = files.map((path) => `'${path}'`);
  const columns = last.fragment.columns.map(
    ({ type }, at) => `${decoded(type, `c${at}`)} AS c${at}`,
  );
  const query = `SELECT ${columns.join(', ')} FROM read_parquet([${list.join(', ')}])`;
  return { files, query };
}
