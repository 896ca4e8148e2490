/**
 * Statements that a query may not be, or that must do no harm: one at least for every function, pragma, setting and
 * kind of statement that the DuckDB at hand lists, so that the next version's additions are tried without being named here.
 */
import { quotedText } from '../../src/sql/plan/index.ts';
import { DuckDBInstance, type StatementType } from '@duckdb/node-api';
import { mayCall, tableArguments } from '../../src/sql/engine/sql/functions.ts';
import { isOwnView } from '../../src/sql/engine/sql/statement-tree.ts';

export interface Attack {
  readonly sql: string;
  /** It may run, and then has to do no harm. */
  readonly isAllowed: boolean;
  /** The first of those that are about the same function, setting or kind of statement. */
  readonly isFirst: boolean;
}

export interface Targets {
  /** A file that nobody may read. */
  readonly secret: string;
  /** One that nobody may write; it is not there. */
  readonly victim: string;
}

/** DuckDB reads each of them in the same way. */
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => `${name}(`,
  (name) => `${name.toUpperCase()} /* ( */ (`,
  (name) => `"${name}"--\r(`,
  (name) => `system.main.${name}\n(`,
];

export async function attacks(targets: Targets): Promise<readonly Attack[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const listed = async (sql: string): Promise<string[][]> =>
    (await connection.runAndReadAll(sql)).getRowsJson() as string[][];
  try {
    const functions = await listed(`
      SELECT function_type, function_name, arg_max(parameter_types::VARCHAR[], len(parameter_types))::JSON::VARCHAR
      FROM duckdb_functions() GROUP BY ALL ORDER BY ALL`);
    const settings = await listed('SELECT name FROM duckdb_settings() ORDER BY ALL');
    const views = await listed(
      'SELECT schema_name, view_name FROM duckdb_views() WHERE internal ORDER BY ALL',
    );
    return [
      ...functions.flatMap(([type = '', name = '', types = '[]'], at) =>
        ofFunction(type, name, JSON.parse(types) as string[], at, targets),
      ),
      ...settings.flatMap(([name = '']) => ofSetting(name)),
      ...views.flatMap(([schema, name]) =>
        refused(
          `FROM ${schema}.${name}`,
          `SELECT (WITH "${name}" AS (SELECT 1) FROM "${name}"), * FROM ${schema}."${name}"`,
          ...(isOwnView(String(name)) ? [`WITH "${name}" AS (FROM "${name}") FROM "${name}"`] : []),
        ),
      ),
      ...Object.values(statements(targets)).flatMap((texts) => refused(...texts)),
      ...refused(...paths(targets)),
    ];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function refused(...texts: readonly string[]): Attack[] {
  return texts.map((sql, at) => ({ sql, isAllowed: false, isFirst: at === 0 }));
}

const more = (attack: Attack): Attack => ({ ...attack, isFirst: false });

function ofFunction(
  type: string,
  name: string,
  types: readonly string[],
  at: number,
  { secret, victim }: Targets,
): Attack[] {
  // Operators are no names; what they do is in the functions of the same kind.
  if (!/^\w+$/.test(name)) return [];
  const args = types.map((each) => argument(each, secret)).join(', ');
  const called = `${(SPELLINGS[at % SPELLINGS.length] as (name: string) => string)(name)}${args})`;
  const plain = `${name}(${args})`;
  switch (type) {
    case 'table':
    case 'table_macro': {
      const isAllowed = tableArguments(name) !== null;
      const named = `save_location := ${quotedText(victim)}, storage_path := ${quotedText(victim)}`;
      return [
        { sql: `SELECT '1'::BIT, * FROM ${called}`, isAllowed, isFirst: true },
        { sql: `FROM t WHERE EXISTS (FROM ${plain})`, isAllowed, isFirst: false },
        ...(isAllowed ? [] : refused(`FROM ${name}(${named})`).map(more)),
      ];
    }
    case 'pragma':
      return refused(`PRAGMA ${name}`, `CALL ${plain}`);
    default:
      if (mayCall(name)) return [];
      return refused(`SELECT ${called}`, `PIVOT t ON ${plain} USING count(*)`);
  }
}

function argument(type: string, secret: string): string {
  if (/VARCHAR\[\]/.test(type)) return `[${quotedText(secret)}]`;
  if (/VARCHAR|ANY|BLOB/.test(type)) return quotedText(secret);
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT|INTEGER|DOUBLE|FLOAT|DECIMAL)/.test(type)) return '1';
  return `NULL::${/^\w+(\[\])*$/.test(type) && type !== 'TABLE' ? type : 'VARCHAR'}`;
}

function ofSetting(name: string): Attack[] {
  return refused(
    `FROM t WHERE current_setting/**/('${name}') = '1'`,
    `SET GLOBAL "${name}" = '1'`,
    `PRAGMA ${name} = '1'`,
  );
}

type Kind = keyof typeof StatementType;

/** DuckDB has no list of them but the type. Some cannot be written: they are made by others, or by extensions. */
export function statements({
  secret,
  victim,
}: Targets): Readonly<Record<Exclude<Kind, 'SELECT'>, readonly string[]>> {
  const [from, to] = [quotedText(secret), quotedText(victim)];
  return {
    INVALID: ['', ';', 'nonsense'],
    INSERT: ['INSERT INTO t VALUES (1)', 'WITH x AS (SELECT 1) INSERT INTO t FROM x'],
    UPDATE: ['UPDATE t SET id = 1'],
    EXPLAIN: [
      ...[`EXPLAIN COPY t TO ${to}`, `EXPLAIN ANALYZE COPY t TO ${to}`, 'EXPLAIN EXPLAIN SELECT 1'],
      ...['EXPLAIN (ANALYZE, FORMAT json) SELECT 1', `EXPLAIN ANALYZE SELECT 1; COPY t TO ${to}`],
      ...[`EXPLAIN ANALYZE FROM read_text(${from})`, `EXPLAIN FROM enable_logging('QueryLog')`],
    ],
    DELETE: ['DELETE FROM t', 'TRUNCATE t'],
    PREPARE: ['PREPARE p AS SELECT 1', `PREPARE p AS COPY t TO ${to}`],
    CREATE: [
      ...['CREATE TABLE x(a INT)', 'CREATE OR REPLACE VIEW t AS SELECT 1', 'CREATE SCHEMA s'],
      ...['CREATE SEQUENCE s', `CREATE TYPE e AS ENUM ('a')`, 'CREATE INDEX i ON t(id)'],
      ...[`CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')`, 'CREATE TEMP TABLE x AS FROM t'],
      `CREATE TABLE x AS FROM read_text(${from})`,
    ],
    EXECUTE: ['EXECUTE p', 'EXECUTE p(1)'],
    ALTER: [
      'ALTER TABLE t ADD COLUMN x INT',
      'ALTER VIEW t RENAME TO u',
      `COMMENT ON VIEW t IS 'x'`,
    ],
    TRANSACTION: ['BEGIN', 'COMMIT', 'ROLLBACK', 'BEGIN; SELECT 1'],
    COPY: [`COPY t TO ${to}`, `COPY (SELECT 1) TO ${to} (FORMAT csv)`, `COPY t FROM ${from}`],
    ANALYZE: ['ANALYZE', 'ANALYZE t'],
    VARIABLE_SET: ['SET VARIABLE x = 1', 'RESET VARIABLE x'],
    CREATE_FUNC: ['CREATE MACRO now() AS 1', 'CREATE FUNCTION f() AS TABLE FROM duckdb_settings()'],
    DROP: ['DROP TABLE t', 'DROP VIEW t', 'DROP SCHEMA main CASCADE'],
    EXPORT: [`EXPORT DATABASE ${to}`, `IMPORT DATABASE ${from}`],
    PRAGMA: ['PRAGMA database_list', 'PRAGMA threads = 99', `PRAGMA enable_profiling = 'json'`],
    VACUUM: ['VACUUM', 'VACUUM ANALYZE t'],
    CALL: ['CALL pragma_version()', `CALL query('SELECT 1')`, 'CALL range(3)'],
    SET: [`SET TimeZone = 'UTC'`, 'SET threads TO 99', 'RESET ALL', `SET SESSION threads = 1`],
    LOAD: ['LOAD json', 'INSTALL httpfs', `FORCE INSTALL httpfs FROM ${from}`, `LOAD ${from}`],
    RELATION: [],
    EXTENSION: [],
    LOGICAL_PLAN: [],
    ATTACH: [`ATTACH ${to}`, `ATTACH ${from} AS x (TYPE sqlite)`, 'USE memory'],
    DETACH: ['DETACH memory', 'DETACH DATABASE IF EXISTS x'],
    MULTI: [
      'SELECT 1; SELECT 2',
      `PIVOT t ON id USING count(*); COPY t TO ${to}`,
      `PIVOT (FROM t, read_text(${from})) ON id`,
    ],
    COPY_DATABASE: ['COPY FROM DATABASE memory TO temp'],
    UPDATE_EXTENSIONS: ['UPDATE EXTENSIONS', 'UPDATE EXTENSIONS (httpfs)'],
    MERGE_INTO: ['MERGE INTO t USING (SELECT 1 AS id) AS n USING (id) WHEN MATCHED THEN DELETE'],
  };
}

/** Files in place of tables, and SQL in a text. */
function paths({ secret, victim }: Targets): readonly string[] {
  const copy = quotedText(`COPY (SELECT 1) TO ${quotedText(victim)}`);
  return [
    ...[`FROM ${quotedText(secret)}`, `FROM "${secret}"`, `FROM ${quotedText(`${secret}.csv`)}`],
    ...[`FROM 'file://${secret}.parquet'`, `FROM 's3://bucket/x.parquet'`, `FROM '/**/*.json'`],
    ...[`FROM ${quotedText(`${victim}.duckdb`)}`, `FROM 'https://localhost/x.csv'`],
    `FROM query(${copy})`,
    `FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))`,
    `FROM query(if(current_setting('enable_external_access'), 'SELECT 1', 'SELECT 2'))`,
    `WITH x AS (FROM query_table(['duckdb_settings'])) FROM x`,
    `SELECT 1) TO ${quotedText(victim)}; --`,
    `SELECT 1\n) TO ${quotedText(victim)} (FORMAT csv); SELECT (1`,
  ];
}
