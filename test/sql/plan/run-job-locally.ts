/**
 * Runs a query's job on one node, task by task in the order of the document, as workers would: inputs are resolved
 * from the results of the tasks before, a real engine writes and reads real Parquet files. No scheduler, no network.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  defaultSettings,
  resolveInput,
  type Json,
  type TaskId,
} from '../../../src/scheduler/core/index.ts';
import type { FragmentEngine } from '../../../src/sql/engine/index.ts';
import {
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
  for (const [no, task] of document.tasks.entries()) {
    const seed = [...seeds].find(([at]) => at === no)?.[1];
    if (seed !== undefined) {
      results.set(task.id, JSON.parse(seed.result ?? 'null') as Json);
      continue;
    }
    const known = new Set(task.dependsOn.map((dependency) => document.tasks[dependency.no]?.id));
    const result = (id: TaskId): Json | undefined => {
      if (!known.has(id)) throw new Error(`${task.id} reads ${id} without waiting for it`);
      return results.get(id);
    };
    const resolved = resolveInput(task.input, result, () => 'succeeded');
    if (!resolved.ok) throw new Error(resolved.error?.message ?? resolved.skipped ?? '');
    const own = join(folder, task.id);
    mkdirSync(own, { recursive: true });
    const { order, parts } = await runTask(engine, resolved.input, files, own);
    files.set(task.id, parts);
    const at = { task: task.id, fence: 1, node: 'n', address: null, folder: own, index: '' };
    results.set(task.id, { at, parts: order });
  }
  return resultOf(plan, files);
}

async function runTask(
  engine: FragmentEngine,
  input: Json,
  files: ReadonlyMap<string, readonly (readonly string[])[]>,
  folder: string,
): Promise<{ readonly order: readonly Json[]; readonly parts: readonly (readonly string[])[] }> {
  const { reads, ...task } = input as unknown as FragmentTask;
  const inputs = Object.fromEntries(
    Object.entries(reads).map(([relation, list]) => [
      relation,
      list.flatMap(({ at, partition }) => files.get(at.task)?.[partition] ?? []),
    ]),
  );
  const order = { ...task, inputs, folder };
  const { parts } = await engine.run(order, AbortSignal.timeout(60_000));
  return {
    order: parts.map(({ rows }) => ({ rows })),
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
