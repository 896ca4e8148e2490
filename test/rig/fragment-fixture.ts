import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import type {
  EngineLimits,
  FragmentEngine,
  FragmentRequest,
  FragmentOutput,
} from '../../src/sql/engine/index.ts';
import { startFragmentEngine } from '../../src/sql/engine/index.ts';
import type { FileRange, Fragment, Scan, StageOutput } from '../../src/sql/plan/index.ts';

export const never: AbortSignal = new AbortController().signal;
export const ROWS = 10_000;

/** `t` has the numbers below `ROWS` as `n` and a text as `s`. */
export const SCAN: Scan = {
  relation: 'r1',
  table: 't',
  files: null,
  rows: 'own',
  reader: { format: 'parquet', options: '' },
  columns: [
    { source: 'n', type: 'BIGINT' },
    { source: 's', type: 'VARCHAR' },
  ],
};

export function fragment(
  sql: string,
  types: readonly string[],
  more: Partial<Fragment> = {},
): Fragment {
  const columns = types.map((type, at) => ({ name: `c${at}`, type }));
  return { sql, columns, scans: [], inputs: [], tables: [], ...more };
}

/** A folder with a few tables, an engine that is limited to it, and a DuckDB beside to look at what comes out. */
export class FragmentFixture {
  readonly root: string;
  readonly engine: FragmentEngine;
  readonly #instance: DuckDBInstance;
  readonly #duckdb: DuckDBConnection;
  #outputs = 0;

  static async open(): Promise<FragmentFixture> {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const fixture = new FragmentFixture(instance, await instance.connect());
    mkdirSync(fixture.file('x=1'));
    await fixture.#duckdb.run(`
      COPY (SELECT i AS n, 'r' || i AS s FROM range(${ROWS}) t(i)) TO '${fixture.file('t.parquet')}' (ROW_GROUP_SIZE 2048);
      COPY (SELECT i::INTEGER AS n, 'q' || i AS s FROM range(10) t(i)) TO '${fixture.file('x=1/u.parquet')}';
      COPY (SELECT 7 AS n) TO '${fixture.file('less.parquet')}';`);
    return fixture;
  }

  private constructor(instance: DuckDBInstance, duckdb: DuckDBConnection) {
    this.root = mkdtempSync(join(tmpdir(), 'millrace-fragments-'));
    this.engine = startFragmentEngine(this.limits());
    this.#instance = instance;
    this.#duckdb = duckdb;
  }

  async close(): Promise<void> {
    await this.engine.close();
    this.#duckdb.closeSync();
    this.#instance.closeSync();
    rmSync(this.root, { recursive: true, force: true });
  }

  /** To be closed by the caller. */
  another(limits: Partial<EngineLimits>): FragmentEngine {
    return startFragmentEngine(this.limits(limits));
  }

  file(name: string): string {
    return join(this.root, name);
  }

  limits(more: Partial<EngineLimits> = {}): EngineLimits {
    return {
      memoryBytes: 256 * 2 ** 20,
      threads: 1,
      spillFolder: this.file('spill'),
      spillBytesMax: 2 ** 30,
      ...more,
    };
  }

  range(name: string, from: number | null = null, to: number | null = null): FileRange {
    return { path: this.file(name), bytes: 0, mtimeNs: '0', footer: '', rows: null, from, to };
  }

  order(of: Fragment, output: StageOutput, more: Partial<FragmentRequest> = {}): FragmentRequest {
    this.#outputs += 1;
    const folder = this.file(`out-${this.#outputs}`);
    mkdirSync(folder);
    const session = { timeZone: 'UTC', now: '2026-01-02 03:04:05.678+00' };
    return { fragment: of, output, session, ranges: {}, inputs: {}, folder, ...more };
  }

  async query(sql: string): Promise<unknown[][]> {
    return (await this.#duckdb.runAndReadAll(sql)).getRowsJson();
  }

  rows(files: readonly string[], sql = 'SELECT * FROM f'): Promise<unknown[][]> {
    const list = files.map((path) => `'${path}'`).join(', ');
    return this.query(`WITH f AS (FROM read_parquet([${list}], hive_partitioning = false)) ${sql}`);
  }

  /** What it writes as one result. */
  async result(of: Fragment, more: Partial<FragmentRequest> = {}): Promise<unknown[][]> {
    const asked = this.order(of, { kind: 'result' }, more);
    return this.rows(filesOf(asked, await this.engine.run(asked, never)));
  }
}

export function filesOf({ folder }: FragmentRequest, { parts }: FragmentOutput): string[] {
  return parts.flatMap(({ files }) => files.map((name) => join(folder, name)));
}
