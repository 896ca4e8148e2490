/**
 * Runs a plan on one node, in one instance of DuckDB: stage by stage, task by task, each task seeing only its own
 * ranges and partitions. What stages hand on stays in tables, so nothing but the plan itself is tried.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Json } from '../../../src/scheduler/core/index.ts';
import { decideFilters, type FilterKeys } from '../../../src/sql/plan/adapt/decide-filters.ts';
import {
  KEYS_MAX,
  bitCount,
  coalescedStages,
  type FilterDecision,
  type KeySummary,
  rowRanges,
  wholeFiles,
  type AdaptiveJoin,
  type ExchangeInput,
  type FileRange,
  type PinnedTable,
  type QueryPlan,
  type Scan,
  type ScanSplit,
  type Stage,
} from '../../../src/sql/plan/index.ts';

/** A query that gives the rows of the result, in order where there is one. The tables that it reads stay until the
 * next plan is run. */
export async function runPlanLocally(
  connection: DuckDBConnection,
  plan: QueryPlan,
  tables: readonly PinnedTable[],
  grouping: Grouping = oneEach,
  broadcasts: (join: AdaptiveJoin) => boolean = () => true,
): Promise<string> {
  const coalesced = new Set(coalescedStages(plan).map(({ id }) => id));
  const groupsOf = plan.stages.map(({ id, tasks, splits }) =>
    coalesced.has(id) ? grouping(id, tasks, splits ?? []) : oneEach(id, tasks, []),
  );
  await connection.run('DROP SCHEMA IF EXISTS plan CASCADE; CREATE SCHEMA plan');
  const last = plan.stages.at(-1) as Stage;
  const filters: Filters = new Map();
  const joins = (plan.joins ?? []).filter(broadcasts);
  const running = { plan, tables, filters, joins };
  for (const stage of stagesInOrder(plan)) {
    const partition = partitionOf(stage);
    filters.set(stage.id, await filtersOf(connection, plan, stage.id));
    if (stage === last) continue;
    for (let task = 0; task < stage.tasks; task += 1) {
      const own = groupsOf[stage.id]?.[task] ?? [];
      const query = taskQuery(running, stage, task, own);
      // The leader answers for a task without partitions: no rows, whatever it would have made of none. It answers in
      // the same way for a task whose rows are joined where they are read.
      const isProbe = joins.some(({ probe }) => probe === stage.id);
      const isJoined = joins.some((join) => join.stage === stage.id);
      const rows = isProbe || (own.length === 0 && !isJoined) ? `${query} LIMIT 0` : query;
      const made = `SELECT *, ${partition} AS p FROM (\n${rows}\n)`;
      await connection.run(`CREATE TABLE ${output(stage.id, task)} AS ${made}`);
    }
  }
  for (const { name, select } of last.fragment.tables)
    await connection.run(`CREATE OR REPLACE TEMP VIEW "${name}" AS ${select}`);
  const isJoined = joins.some((join) => join.stage === last.id);
  const parts = (groupsOf[last.id] ?? []).flatMap((own, task) =>
    own.length === 0 && !isJoined ? [] : [`(\n${taskQuery(running, last, task, own)}\n)`],
  );
  return last.tasks === 1 ? taskQuery(running, last, 0, [0]) : parts.join(' UNION ALL ');
}

/** A partition, or the share `at` of `of` of a partition that is split by an input: every other input is read in full. */
export type Part =
  | number
  | {
      readonly partition: number;
      readonly by: string;
      readonly at: number;
      readonly of: number;
    };

/** By task: the partitions that it reads. `splits` are the inputs by which a partition may be split. */
export type Grouping = (
  stage: number,
  tasks: number,
  splits: readonly string[],
) => readonly (readonly Part[])[];

const oneEach: Grouping = (_, tasks) => Array.from({ length: tasks }, (_none, task) => [task]);

function partitionOf({ output: to }: Stage): string {
  switch (to.kind) {
    case 'hash':
      return to.by.length === 0 ? '0' : `(hash(${to.by.join(', ')}) >> 24) % ${to.partitions}`;
    case 'range':
      return to.by;
    case 'whole':
    case 'result':
      return '0';
    default:
      return to satisfies never;
  }
}

function output(stage: number, task: number): string {
  return `plan.s${stage}_t${task}`;
}

/** By stage and relation: what the leader decides of the plan's runtime filters. */
type Filters = Map<number, Readonly<Record<string, string>>>;

interface Running {
  readonly plan: QueryPlan;
  readonly tables: readonly PinnedTable[];
  readonly filters: Filters;
  /** Those whose smaller side is in every task. */
  readonly joins: readonly AdaptiveJoin[];
}

/** Each behind those that it reads, and those whose keys or size it waits for. */
function stagesInOrder({ stages, filters = [], joins = [] }: QueryPlan): readonly Stage[] {
  const ordered = new Set<Stage>();
  const open = new Set<Stage>();
  const visit = (stage: Stage): void => {
    if (ordered.has(stage)) return;
    if (open.has(stage)) throw new Error(`stage ${stage.id} waits for itself`);
    open.add(stage);
    const keys = filters.filter((each) => each.stage === stage.id).map((each) => each.keys.stage);
    const read = stage.fragment.inputs.map((input) => input.stage);
    const sizes = joins.filter(({ probe }) => probe === stage.id).map(({ build }) => build);
    for (const id of [...read, ...keys, ...sizes]) visit(stages[id] as Stage);
    ordered.add(stage);
  };
  for (const stage of stages) visit(stage);
  return [...ordered];
}

async function filtersOf(
  connection: DuckDBConnection,
  { stages, filters = [] }: QueryPlan,
  stage: number,
): Promise<Readonly<Record<string, string>>> {
  const own = filters.filter((each) => each.stage === stage);
  const known: FilterKeys[] = [];
  for (const filter of own) {
    const { tasks } = stages[filter.keys.stage] as Stage;
    const keys: [KeySummary][] = [];
    for (let task = 0; task < tasks; task += 1) {
      const from = `(SELECT c${filter.keys.column} AS k FROM ${output(filter.keys.stage, task)})`;
      const facts = await connection.runAndReadAll(
        `SELECT count(*) > count(k), min(k)::VARCHAR, max(k)::VARCHAR FROM ${from}`,
      );
      const [hasNull, min, max] = facts.getRows()[0] as [boolean, string | null, string | null];
      const list = await connection.runAndReadAll(
        `SELECT DISTINCT k::VARCHAR FROM ${from} WHERE k IS NOT NULL LIMIT ${KEYS_MAX + 1}`,
      );
      const values = list.getRows().map(([value]) => String(value));
      // Every second filter is a bitmap, as if there were more keys.
      const size = known.length % 2 === 0 || min === null ? null : bitCount(values.length, tasks);
      if (size === null) {
        keys.push([{ hasNull, min, max, values: values.length > KEYS_MAX ? null : values }]);
        continue;
      }
      const bit = `CAST(hash(k) % ${size} AS INTEGER)`;
      const map = await connection.runAndReadAll(
        `SELECT base64(CAST(bitstring_agg(${bit}, 0, ${size - 1}) AS BLOB)) FROM ${from} WHERE k IS NOT NULL`,
      );
      keys.push([{ hasNull, min, max, values: null, bits: String(map.getRows()[0]?.[0]) }]);
    }
    known.push({ filter, keys, parts: keys.map(() => [{ rows: 1 }]), place: 0 });
  }
  const { result } = decideFilters({ filters: known } as unknown as Json);
  return (JSON.parse(result) as FilterDecision).filters;
}

function taskQuery(
  { plan, tables, filters, joins }: Running,
  stage: Stage,
  task: number,
  partitions: readonly Part[],
): string {
  const join = joins.find((each) => each.stage === stage.id);
  const { fragment } = join ?? stage;
  const filter = { ...filters.get(stage.id), ...filters.get(join?.probe ?? stage.id) };
  const relations = [
    ...fragment.scans.map(
      (scan) =>
        `${scan.relation} AS NOT MATERIALIZED (SELECT * FROM (${scanText(scan, tables, stage, task)}) ` +
        `WHERE ${filter[scan.relation] ?? 'true'})`,
    ),
    ...fragment.inputs.map(
      (input) =>
        `${input.relation} AS NOT MATERIALIZED (${inputText(plan, input, task, partitions)})`,
    ),
  ];
  const names = fragment.columns.map(({ name }) => name).join(', ');
  const before = relations.length === 0 ? '' : `WITH ${relations.join(', ')} `;
  return `${before}SELECT * FROM (\n${fragment.sql}\n) AS f(${names})`;
}

function scanText(scan: Scan, tables: readonly PinnedTable[], stage: Stage, task: number): string {
  const table = tables.find(({ name }) => name === scan.table) as PinnedTable;
  const files = table.files.filter(({ path }) => scan.files === null || scan.files.includes(path));
  const isByRows = scan.rows === 'own' && scan.split === undefined;
  const ranges = isByRows ? (rowRanges(files, stage.tasks)[task] ?? []) : wholeFiles(files);
  const list = scan.columns
    .map(({ source, type }, at) => `CAST("${source}" AS ${type}) AS c${at}`)
    .join(', ');
  if (ranges.length === 0) return `SELECT ${list} FROM (${table.select}) WHERE false`;
  const rows = ranges.map((range) => `SELECT ${list} FROM ${rangeText(range)}`).join(' UNION ALL ');
  return scan.split === undefined
    ? rows
    : `SELECT * FROM (${rows}) WHERE ${within(scan.split, task)}`;
}

function within({ column, bounds }: ScanSplit, task: number): string {
  const passed = bounds.map((bound) => `(c${column} >= ${bound})::INTEGER`);
  return `${[0, ...passed].join(' + ')} = ${task}`;
}

function rangeText({ path, from, to }: FileRange): string {
  if (from === null || to === null) return `read_parquet('${path}')`;
  const rows = `file_row_number >= ${from} AND file_row_number < ${to}`;
  return `read_parquet('${path}', file_row_number = true) WHERE ${rows}`;
}

function inputText(
  plan: QueryPlan,
  input: ExchangeInput,
  task: number,
  partitions: readonly Part[],
): string {
  const { tasks } = plan.stages[input.stage] as Stage;
  const names = input.columns.map(({ name }) => name).join(', ');
  const read = (producer: number, where: string): string =>
    `SELECT ${names} FROM ${output(input.stage, producer)}${where}`;
  if (input.mode === 'forward') return read(task, '');
  if (input.mode === 'all')
    return Array.from({ length: tasks }, (_, at) => read(at, '')).join(' UNION ALL ');
  return Array.from({ length: tasks }, (_, producer) => {
    const own = partitions.flatMap((part) => {
      if (typeof part === 'number') return part;
      const isOwn = part.by !== input.relation || producer % part.of === part.at;
      return isOwn ? part.partition : [];
    });
    return read(producer, ` WHERE p IN (${['NULL', ...own].join(', ')})`);
  }).join(' UNION ALL ');
}
