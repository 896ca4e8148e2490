/** A planner and an executor in this process, over small Parquet files: what a plan read and printed again gives. */
import { quotedName } from '../../../src/sql/plan/index.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { printRelation } from '../../../src/sql/plan/sql/relation.ts';
import { readLogicalPlan } from '../../../src/sql/plan/logical/read-plan.ts';
import type { Relation, ScanRelation } from '../../../src/sql/plan/logical/relation.ts';
import type { SessionValues } from '../../../src/sql/plan/index.ts';

/** Without these DuckDB writes every plan, and keeps to operators that people know. */
const DISABLED =
  'column_lifetime,compressed_materialization,late_materialization,join_filter_pushdown,in_clause,' +
  'build_side_probe_side,common_aggregate,top_n_window_elimination';

export const session: SessionValues = { timeZone: 'UTC', now: '2026-03-04 05:06:07.089+00' };

export interface Answer {
  readonly types: readonly string[];
  /** Each row as text, sorted. */
  readonly rows: readonly string[];
}

export class PlanBench {
  readonly #folder: string;
  readonly #planner: DuckDBConnection;
  readonly #runner: DuckDBConnection;

  private constructor(folder: string, planner: DuckDBConnection, runner: DuckDBConnection) {
    this.#folder = folder;
    this.#planner = planner;
    this.#runner = runner;
  }

  /** `tables`: what each one is made of, as a query. `disabled`: further optimizers that the planner goes without. */
  static async open(
    tables: Readonly<Record<string, string>>,
    disabled: readonly string[] = [],
  ): Promise<PlanBench> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-plans-'));
    const connect = async (): Promise<DuckDBConnection> =>
      (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
    const [planner, runner] = [await connect(), await connect()];
    for (const connection of [planner, runner]) await connection.run(`SET TimeZone = 'UTC'`);
    for (const [name, query] of Object.entries(tables)) {
      const file = join(folder, `${name}.parquet`);
      await runner.run(`COPY (${query}) TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`);
      for (const connection of [planner, runner]) {
        await connection.run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet(['${file}'])`);
      }
    }
    await planner.run(`SET disabled_optimizers = '${[DISABLED, ...disabled].join(',')}'`);
    await planner.run(`SET explain_output = 'optimized_only'`);
    return new PlanBench(folder, planner, runner);
  }

  close(): void {
    this.#planner.closeSync();
    this.#runner.closeSync();
    rmSync(this.#folder, { recursive: true });
  }

  async planJson(sql: string): Promise<string> {
    const text = sql.replaceAll("'", "''");
    const reader = await this.#planner.runAndReadAll(
      `SELECT json_serialize_plan('${text}', optimize := true)`,
    );
    return String(reader.getRows()[0]?.[0]);
  }

  async read(sql: string): Promise<Relation> {
    return readLogicalPlan(await this.planJson(sql), await this.#estimates(sql), session);
  }

  async #estimates(sql: string): Promise<string | null> {
    if (!/^(SELECT|WITH|VALUES)\b/.test(sql)) return null;
    const explained = await this.#planner.runAndReadAll(`EXPLAIN (FORMAT json) ${sql}`);
    return String(explained.getRows()[0]?.[1]);
  }

  /** Runs SQL as it is. */
  async run(sql: string): Promise<Answer> {
    const reader = await this.#runner.runAndReadAll(sql);
    const rows = reader.getRowsJson().map((row) => JSON.stringify(row.map(rounded)));
    return { types: reader.columnTypes().map(String), rows: rows.toSorted() };
  }

  /** The text that a query becomes. */
  async print(sql: string): Promise<string> {
    return printed(await this.read(sql)).text;
  }

  /** What that text gives. */
  async runPrinted(sql: string): Promise<Answer> {
    return this.runRelation(await this.read(sql));
  }

  async runRelation(relation: Relation): Promise<Answer> {
    const { text, scans } = printed(relation);
    for (const [name, scan] of scans) await this.#runner.run(viewOf(name, scan));
    try {
      return await this.run(text);
    } catch (error) {
      throw new Error(`${String(error)}\n${text}`, { cause: error });
    }
  }
}

function printed(relation: Relation): { text: string; scans: Map<string, ScanRelation> } {
  const scans = new Map<string, ScanRelation>();
  const text = printRelation(relation, (scan) => {
    const known = [...scans].find(([, other]) => other === scan);
    const name = known?.[0] ?? `s${scans.size}`;
    scans.set(name, scan);
    return name;
  });
  return { text, scans };
}

function viewOf(name: string, scan: ScanRelation): string {
  const columns = scan.columns.map((column, i) => {
    const source = column === null ? 'NULL' : quotedName(scan.names[column] ?? '');
    return `${source} AS c${i}`;
  });
  const files = scan.files.map((file) => `'${file}'`).join(', ');
  const list = columns.length === 0 ? 'NULL AS none' : columns.join(', ');
  return `CREATE OR REPLACE TEMP VIEW ${name} AS SELECT ${list} FROM read_parquet([${files}])`;
}

/** Sums of fractions depend on the order in the last digits. */
function rounded(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value)
    ? Number(value.toPrecision(12))
    : value;
}
