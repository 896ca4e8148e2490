/** Plans queries over Parquet files as a leader does, but in this process and without a catalog. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  Undistributable,
  planQuery,
  readLogicalPlan,
  type Cluster,
  type ClusterGroup,
  type PinnedFile,
  type PinnedTable,
  type PlanInput,
  type PlanSettings,
  type QueryPlan,
  type Relation,
} from '../../../src/sql/plan/index.ts';

/** As the planner's instance has it; the engine's own tests hold the list. */
const PLANNING_OFF =
  'column_lifetime,compressed_materialization,late_materialization,join_filter_pushdown,in_clause,' +
  'build_side_probe_side,common_aggregate,top_n_window_elimination';

const SESSION = { timeZone: 'UTC', now: '2024-06-01 12:00:00+00' };

export class LocalPlanner {
  readonly tables: readonly PinnedTable[];
  readonly connection: DuckDBConnection;
  readonly #instance: DuckDBInstance;

  private constructor(
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    tables: readonly PinnedTable[],
  ) {
    this.#instance = instance;
    this.connection = connection;
    this.tables = tables;
  }

  /**
   * Tables by name: a path, perhaps with `*` in its last part. `clustered`: every column of whole numbers without NULL is
   * taken for one that the files are in order by. The rows must be the same ones, whether that is true or not.
   */
  static async open(
    paths: Readonly<Record<string, string>>,
    { clustered = false }: { readonly clustered?: boolean } = {},
  ): Promise<LocalPlanner> {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    await connection.run(
      `SET disabled_optimizers = '${PLANNING_OFF}'; SET explain_output = 'optimized_only'; SET TimeZone = 'UTC'`,
    );
    const tables: PinnedTable[] = [];
    for (const [name, path] of Object.entries(paths)) {
      const table = await pinned(connection, name, path);
      const clusters = clustered ? await clustersOf(connection, table) : [];
      tables.push({ ...table, clusters });
      await connection.run(`CREATE VIEW "${name}" AS ${table.select}`);
    }
    return new LocalPlanner(instance, connection, tables);
  }

  /** What `planQuery` is given for a query. */
  async input(sql: string, settings: PlanSettings): Promise<PlanInput> {
    const described = await this.connection.runAndReadAll(`DESCRIBE ${sql}`);
    const columns = described
      .getRows()
      .map((row) => ({ name: String(row[0]), type: String(row[1]) }));
    const quoted = `'${sql.replaceAll("'", "''")}'`;
    const plan = await text(
      this.connection,
      `SELECT json_serialize_plan(${quoted}, optimize := true)::VARCHAR`,
    );
    const estimates = await text(this.connection, `EXPLAIN (FORMAT json) ${sql}`, 1);
    const { logical, whyNot } = read(plan, estimates);
    const { tables } = this;
    return { sql, columns, logical, whyNot, tables, session: SESSION, duckdb: 'v1.5.6', settings };
  }

  async plan(sql: string, settings: PlanSettings): Promise<QueryPlan> {
    return planQuery(await this.input(sql, settings));
  }

  close(): void {
    this.connection.closeSync();
    this.#instance.closeSync();
  }
}

function read(
  plan: string,
  estimates: string,
): { readonly logical: Relation | null; readonly whyNot: string | null } {
  try {
    return { logical: readLogicalPlan(plan, estimates, SESSION), whyNot: null };
  } catch (error) {
    if (!(error instanceof Undistributable)) throw error;
    return { logical: null, whyNot: error.reason };
  }
}

async function text(connection: DuckDBConnection, sql: string, at = 0): Promise<string> {
  const reader = await connection.runAndReadAll(sql);
  return String(reader.getRows()[0]?.[at]);
}

async function pinned(
  connection: DuckDBConnection,
  name: string,
  path: string,
): Promise<PinnedTable> {
  const paths = expanded(path);
  const list = `[${paths.map((each) => `'${each}'`).join(', ')}]`;
  const select = `SELECT * FROM read_parquet(${list})`;
  const described = await connection.runAndReadAll(`DESCRIBE ${select}`);
  const sizes = await connection.runAndReadAll(
    `SELECT path_in_schema, sum(total_compressed_size),
       CASE WHEN count(*) > count(stats_distinct_count) THEN NULL
         WHEN count(DISTINCT (stats_min_value, stats_max_value)) = 1 THEN max(stats_distinct_count)
         ELSE sum(stats_distinct_count) END,
       min(TRY_CAST(stats_min_value AS BIGINT)), max(TRY_CAST(stats_max_value AS BIGINT))
     FROM parquet_metadata(${list}) GROUP BY path_in_schema`,
  );
  const stored = new Map(sizes.getRows().map((row) => [String(row[0]), row]));
  const columns = described.getRows().map(([name, type]) => {
    const [, bytes, distinct, least, greatest] = stored.get(String(name)) ?? [];
    const range = [Number(least ?? NaN), Number(greatest ?? NaN)] as const;
    const known = {
      ...{ name: String(name), type: String(type), bytes: Number(bytes ?? 0) },
      ...(WHOLE.test(String(type)) && range.every(Number.isSafeInteger) ? { range } : {}),
    };
    return distinct === null || distinct === undefined
      ? known
      : { ...known, distinct: Number(distinct) };
  });
  const files: PinnedFile[] = [];
  for (const each of paths) files.push(await file(connection, each));
  return { name, format: 'parquet', files, columns, options: '', select, root: null };
}

const WHOLE = /^U?(TINY|SMALL|BIG)?INT(EGER)?$/;
/** More than there are tasks, so that each gets some. */
const GROUPS = 40;

async function clustersOf(connection: DuckDBConnection, table: PinnedTable): Promise<Cluster[]> {
  const clusters: Cluster[] = [];
  for (const { name, type } of table.columns) {
    if (!WHOLE.test(type)) continue;
    const groups: ClusterGroup[] = [];
    let isPlain = true;
    for (const [place, { path }] of table.files.entries()) {
      const reader = await connection.runAndReadAll(
        `SELECT count(*), min(v), max(v), count(*) - count(v) FROM (
           SELECT "${name}" AS v, ntile(${GROUPS}) OVER (ORDER BY "${name}") AS n FROM read_parquet('${path}')
         ) GROUP BY n ORDER BY n`,
      );
      for (const row of reader.getRows()) {
        const [rows = 0, min = NaN, max = NaN, nulls = 1] = row.map(Number);
        isPlain &&= nulls === 0 && Number.isSafeInteger(min) && Number.isSafeInteger(max);
        groups.push({ file: place, rows, min, max });
      }
    }
    if (isPlain && groups.length > 0) clusters.push({ column: name, groups });
  }
  return clusters;
}

async function file(connection: DuckDBConnection, path: string): Promise<PinnedFile> {
  const reader = await connection.runAndReadAll(
    `SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('${path}') ORDER BY 1`,
  );
  const groups = reader.getRows().map((row) => Number(row[1]));
  const { size } = statSync(path);
  const rows = groups.reduce((sum, group) => sum + group, 0);
  return { path, bytes: size, mtimeNs: '0', footer: '', rows, groups };
}

function expanded(path: string): readonly string[] {
  if (!path.includes('*')) return [path];
  const folder = dirname(path);
  return readdirSync(folder)
    .map((entry) => join(folder, entry))
    .filter((each) => matches(each, path))
    .toSorted();
}

function matches(path: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]*')}$`).test(path);
}
