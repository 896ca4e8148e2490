/**
 * Runs a plan on one node, in one instance of DuckDB: stage by stage, task by task, each task seeing only its own
 * ranges and partitions. What stages hand on stays in tables, so nothing but the plan itself is tried.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  coalescedStages,
  rowRanges,
  wholeFiles,
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
): Promise<string> {
  const coalesced = new Set(coalescedStages(plan).map(({ id }) => id));
  const groupsOf = plan.stages.map(({ id, tasks }) =>
    coalesced.has(id) ? grouping(id, tasks) : oneEach(id, tasks),
  );
  await connection.run('DROP SCHEMA IF EXISTS plan CASCADE; CREATE SCHEMA plan');
  for (const stage of plan.stages.slice(0, -1)) {
    const partition = partitionOf(stage);
    for (let task = 0; task < stage.tasks; task += 1) {
      const own = groupsOf[stage.id]?.[task] ?? [];
      const query = taskQuery(plan, tables, stage, task, own);
      // The leader answers for a task without partitions: no rows, whatever it would have made of none.
      const rows = own.length === 0 ? `${query} LIMIT 0` : query;
      const made = `SELECT *, ${partition} AS p FROM (\n${rows}\n)`;
      await connection.run(`CREATE TABLE ${output(stage.id, task)} AS ${made}`);
    }
  }
  const last = plan.stages.at(-1) as Stage;
  for (const { name, select } of last.fragment.tables)
    await connection.run(`CREATE OR REPLACE TEMP VIEW "${name}" AS ${select}`);
  const parts = (groupsOf[last.id] ?? []).flatMap((own, task) =>
    own.length === 0 ? [] : [`(\n${taskQuery(plan, tables, last, task, own)}\n)`],
  );
  return last.tasks === 1 ? taskQuery(plan, tables, last, 0, [0]) : parts.join(' UNION ALL ');
}

/** By task: the partitions that it reads. */
export type Grouping = (stage: number, tasks: number) => readonly (readonly number[])[];

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

function taskQuery(
  plan: QueryPlan,
  tables: readonly PinnedTable[],
  stage: Stage,
  task: number,
  partitions: readonly number[],
): string {
  const { fragment } = stage;
  const relations = [
    ...fragment.scans.map(
      (scan) => `${scan.relation} AS NOT MATERIALIZED (${scanText(scan, tables, stage, task)})`,
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
  partitions: readonly number[],
): string {
  const { tasks } = plan.stages[input.stage] as Stage;
  const names = input.columns.map(({ name }) => name).join(', ');
  const read = (producer: number, where: string): string =>
    `SELECT ${names} FROM ${output(input.stage, producer)}${where}`;
  if (input.mode === 'forward') return read(task, '');
  const where =
    input.mode === 'partition' ? ` WHERE p IN (${['NULL', ...partitions].join(', ')})` : '';
  return Array.from({ length: tasks }, (_, at) => read(at, where)).join(' UNION ALL ');
}
