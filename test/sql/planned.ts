/**
 * Queries planned and run in this process: DuckDB's plan, distributed, its fragments run one after the other in one
 * instance. Shows what the planner does, without engines, nodes and files between them.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { checkPlan } from '../../src/sql/plan/index.ts';
import type { PlanSettings, QueryPlan } from '../../src/sql/plan/index.ts';
import { LocalPlanner } from './plan/local-planner.ts';
import { runPlanLocally } from './plan/run-plan-locally.ts';
import { cellOf } from './contract-values.ts';
import type { Answer } from './contract-values.ts';
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

  async answer(sql: string, settings: PlanSettings): Promise<PlannedAnswer> {
    const plan = await this.#planner.plan(sql, settings);
    checkPlan(plan);
    const query = await runPlanLocally(this.#connection, plan, this.#planner.tables);
    const reader = await this.#connection.runAndReadAll(query);
    const types = reader.columnTypes();
    const rows = reader.getRows().map((row) => row.map(cellOf));
    const columns = plan.columns.map(({ name }, at) => ({ name, type: String(types[at]) }));
    return { answer: { columns, rows }, plan };
  }

  close(): void {
    this.#planner.close();
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}
