/** Small tables and TPC-H at a small scale, planned and run in this process, beside DuckDB itself. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { tpchData } from '../../../bench/tpch/generate.ts';
import type { PlanSettings, QueryPlan } from '../../../src/sql/plan/index.ts';
import { LocalPlanner } from './local-planner.ts';
import { runPlanLocally } from './run-plan-locally.ts';
import { tables } from './tables.ts';

/** Nothing is sent to all, nothing is too small: everything that can be is hash-partitioned. */
export const FORCED = { broadcastThresholdBytes: 0, singleFragmentBytes: 0 } as const;
/** Small tables are read by every task, larger ones sent to all. */
export const SHARED = { broadcastThresholdBytes: 2_000, singleFragmentBytes: 0 } as const;

export const TPCH_NAMES: readonly string[] = Array.from(
  { length: 22 },
  (_, at) => `q${String(at + 1).padStart(2, '0')}`,
);

export function tpchSql(name: string): string {
  const path = join(import.meta.dirname, `../../../bench/tpch/queries/${name}.sql`);
  return readFileSync(path, 'utf8').trim().replace(/;$/, '');
}

type Shown = (value: unknown) => unknown;

/** Both answers, to be held against each other. */
export interface Answers {
  readonly plan: QueryPlan;
  readonly given: readonly string[];
  readonly own: readonly string[];
}

export class LocalQueries {
  readonly folder: string;
  readonly planner: LocalPlanner;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(
    folder: string,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    planner: LocalPlanner,
  ) {
    this.folder = folder;
    this.#instance = instance;
    this.#connection = connection;
    this.planner = planner;
  }

  static async open(scale: number, clustered = false): Promise<LocalQueries> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-distributed-'));
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    await connection.run(`SET TimeZone = 'UTC'`);
    const tpch = await tpchData({ folder: join(folder, 'tpch'), scale, files: 2 });
    const paths: Record<string, string> = { ...tpch };
    for (const [name, query] of Object.entries(tables)) {
      const path = join(folder, `${name}.parquet`);
      await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`);
      paths[name] = path;
    }
    const planner = await LocalPlanner.open(paths, { clustered });
    for (const { name, select } of planner.tables)
      await connection.run(`CREATE VIEW ${name} AS ${select}`);
    return new LocalQueries(folder, instance, connection, planner);
  }

  /** `shown`: what is compared of a value. */
  async ask(sql: string, settings: PlanSettings, shown: Shown = rounded): Promise<Answers> {
    const plan = await this.planner.plan(sql, settings);
    const query = await runPlanLocally(this.#connection, plan, this.planner.tables);
    return this.compare(plan, query, shown);
  }

  async compare(plan: QueryPlan, query: string, shown: Shown = rounded): Promise<Answers> {
    const given = await this.#rows(query, plan, shown);
    return { plan, given, own: await this.#rows(plan.sql, plan, shown) };
  }

  /** Rows as text; sorted unless they have an order. */
  async #rows(sql: string, plan: QueryPlan, shown: Shown): Promise<readonly string[]> {
    const { ordered, columns } = plan;
    const reader = await this.#connection.runAndReadAll(sql);
    const types = reader.columnTypes().map(String);
    if (types.length !== columns.length) throw new Error(`${types.length} columns: ${sql}`);
    const texts = reader.getRowsJson().map((row) => JSON.stringify(row.map(shown)));
    return [types.join(), ...(ordered ? texts : texts.toSorted())];
  }

  close(): void {
    this.planner.close();
    this.#connection.closeSync();
    this.#instance.closeSync();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Sums of floats differ in their last digits. */
function rounded(value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(9)) : value;
}
