/**
 * Queries planned and run in this process: DuckDB's plan, distributed, its fragments run one after the other in one
 * instance. Shows what the planner does, without engines, nodes and files between them.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll } from 'vitest';
import { groupPartitions } from '../../src/sql/plan/adapt/group-partitions.ts';
import { checkPlan } from '../../src/sql/plan/index.ts';
import type { AdaptiveJoin, PlanSettings, QueryPlan } from '../../src/sql/plan/index.ts';
import { LocalPlanner } from './plan/local-planner.ts';
import { runPlanLocally } from './plan/run-plan-locally.ts';
import type { Grouping, Part } from './plan/run-plan-locally.ts';
import type { Dice } from './random/dice.ts';
import { cellOf } from './contract-values.ts';
import type { Answer } from './contract-values.ts';
import type { Scratch } from './scratch.ts';
import type { TestTables } from './tables.ts';

export interface PlannedAnswer {
  readonly answer: Answer;
  readonly plan: QueryPlan;
}

export class PlannedQueries {
  readonly #planner: LocalPlanner;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(
    planner: LocalPlanner,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
  ) {
    this.#planner = planner;
    this.#instance = instance;
    this.#connection = connection;
  }

  /** Only tables of Parquet files with the same columns: the others need the catalog. */
  static async open({ specs }: TestTables, clustered = false): Promise<PlannedQueries> {
    const paths = Object.entries(specs).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && entry[1].endsWith('.parquet'),
    );
    const planner = await LocalPlanner.open(Object.fromEntries(paths), { clustered });
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return new PlannedQueries(planner, instance, connection);
  }

  has(sql: string): boolean {
    return !/\b(sales|drift|cities|documents)\b/.test(sql);
  }

  /** With `grouping`, stages are coalesced in this way wherever they may be. */
  async answer(
    sql: string,
    settings: PlanSettings,
    grouping?: Grouping,
    broadcasts?: (join: AdaptiveJoin) => boolean,
  ): Promise<PlannedAnswer> {
    const made = await this.#planner.plan(sql, settings);
    const plan = grouping === undefined ? made : { ...made, coalesce: { targetBytes: 1 } };
    checkPlan(plan);
    const { tables } = this.#planner;
    const query = await runPlanLocally(this.#connection, plan, tables, grouping, broadcasts);
    const reader = await this.#connection.runAndReadAll(query);
    const types = reader.columnTypes();
    const rows = reader.getRows().map((row) => row.map(cellOf));
    const columns = plan.columns.map(({ name }, at) => ({ name, type: String(types[at]) }));
    return { answer: { columns, rows }, plan };
  }

  /** How many rows each task of the last stage has returned of the plan that was run last. */
  async rowsOfTasks({ stages }: QueryPlan): Promise<readonly number[]> {
    const last = stages.at(-1);
    const [input] = last?.fragment.inputs ?? [];
    const producers = stages[input?.stage ?? 0]?.tasks ?? 0;
    const tables = Array.from(
      { length: producers },
      (_, task) => `SELECT p FROM plan.s${input?.stage}_t${task}`,
    );
    const reader = await this.#connection.runAndReadAll(
      `SELECT p, count(*) FROM (${tables.join(' UNION ALL ')}) GROUP BY p`,
    );
    return reader.getRows().map((row) => Number(row[1]));
  }

  close(): void {
    this.#planner.close();
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** Opened before the first test of a file, over its tables; `inOrder` takes these to be sorted by every number column. */
export function openPlanned(
  here: Scratch,
): Readonly<Record<'planned' | 'inOrder', PlannedQueries>> {
  const local = {} as Record<'planned' | 'inOrder', PlannedQueries>;
  beforeAll(async () => {
    local.planned = await PlannedQueries.open(here.tables);
    local.inOrder = await PlannedQueries.open(here.tables, true);
  });
  afterAll(() => {
    local.planned.close();
    local.inOrder.close();
  });
  return local;
}

/** As the leader groups partitions that have these sizes. */
export const grouped =
  (dice: Dice): Grouping =>
  (_, tasks) => {
    const bytes = Array.from({ length: tasks }, () => dice.below(1_000));
    const groups: (readonly number[])[] = bytes.map(() => []);
    const limits = { targetBytes: 1 + dice.below(2_000), slots: 1 };
    for (const group of groupPartitions(bytes, limits)) groups[group[0] as number] = group;
    return groups;
  };

/**
 * Every partition that may be split is, by any of the inputs; the shares go to any tasks, where others may be read as well.
 * The tasks of a stage that may not be split have their own partitions: their order may count.
 */
export const split =
  (dice: Dice): Grouping =>
  (_, tasks, splits) => {
    if (splits.length === 0) return Array.from({ length: tasks }, (_none, task) => [task]);
    const byTask: Part[][] = Array.from({ length: tasks }, () => []);
    for (let partition = 0; partition < tasks; partition += 1) {
      const of = 1 + dice.below(tasks);
      const by = dice.pick(splits);
      const first = dice.below(tasks);
      for (let at = 0; at < of; at += 1)
        byTask[(first + at) % tasks]?.push(of === 1 ? partition : { partition, by, at, of });
    }
    return byTask;
  };
