/**
 * Checks plans that clients submit. Their SQL is checked and bound like any other, in an instance that sees nothing
 * but the relations that a fragment declares, so it is known to be one SELECT that calls only allowed functions and
 * opens no files. Which files a scan reads, and how, is never taken from the plan.
 */
import type { CatalogPort } from '../catalog/index.ts';
import { MillraceError, didYouMean, isMillraceError } from '../../scheduler/core/index.ts';
import type { OperatorDeclaration } from '../../scheduler/core/index.ts';
import { partitionOf } from '../engine/index.ts';
import type { LogicalAnswer, PlanningEngine } from '../engine/index.ts';
import { CUSTOM_RELATION, readPlan, quotedName } from '../plan/index.ts';
import type { CustomCall, Fragment, PinnedTable, QueryPlan, Scan, Stage } from '../plan/index.ts';
import { customNamesIn, withFunctions, withOwnTypes } from './custom-names.ts';
import { checkParameters, inputOf, withColumns } from './operator-query.ts';
import { bad } from './request.ts';
import type { QueryRequest } from './request.ts';

export interface PlanChecks {
  readonly catalog: CatalogPort;
  readonly engine: Pick<PlanningEngine, 'plan'>;
  readonly caller: string;
  /** The custom operators and functions that workers have declared. */
  readonly declared: readonly OperatorDeclaration[];
}

export interface CheckedPlan {
  readonly plan: QueryPlan;
  readonly tables: readonly PinnedTable[];
}

export async function checkedPlan(
  request: QueryRequest,
  { catalog, ...checks }: PlanChecks,
  signal: AbortSignal,
): Promise<CheckedPlan> {
  const given = within(() => readPlan(request.plan));
  const names = namesIn(given);
  // Quoted, each is an identifier, whatever it looks like.
  const sql = names.map(quotedName).join(' ');
  const tables = await catalog.resolve({ tables: request.tables, sql }, signal);
  const byName = new Map(tables.map((table) => [table.name, table]));
  const own = given.stages.map((stage, at) => ownStage(stage, `/plan/stages/${at}`, byName));
  const stages: Stage[] = [];
  for (const [at, stage] of own.entries()) {
    stages.push(await bound(checks, given, stage, `/plan/stages/${at}/fragment`, signal));
  }
  const roots = new Set(tables.flatMap(({ root }) => root ?? []));
  return { plan: { ...given, stages, roots: [...roots].toSorted() }, tables };
}

function namesIn({ stages }: QueryPlan): readonly string[] {
  const names = stages.flatMap(({ fragment }) => [
    ...fragment.scans.map(({ table }) => table),
    ...fragment.tables.map(({ name }) => name),
  ]);
  return [...new Set(names)];
}

/** The stage with the files, formats and types of this server's tables. */
function ownStage(stage: Stage, at: string, tables: ReadonlyMap<string, PinnedTable>): Stage {
  const find = (name: string, path: string): PinnedTable =>
    tables.get(name) ?? refuseTable(name, path);
  const { fragment } = stage;
  const scans = fragment.scans.map((scan, no) => {
    const path = `${at}/fragment/scans/${no}`;
    return ownScan(scan, find(scan.table, `${path}/table`), path);
  });
  const whole = fragment.tables.map(({ name }, no) => find(name, `${at}/fragment/tables/${no}`));
  return { ...stage, fragment: { ...fragment, scans, tables: whole } };
}

function ownScan(scan: Scan, { format, options, columns }: PinnedTable, path: string): Scan {
  return {
    ...scan,
    reader: { format, options },
    columns: scan.columns.map(({ source }, at) => {
      const known = columns.find(({ name }) => name.toLowerCase() === source.toLowerCase());
      if (known === undefined) {
        throw bad(`${path}/columns/${at}/source`, `The table has no column '${source}'.`);
      }
      return { source: known.name, type: known.type };
    }),
  };
}

/** The stage with its SQL as checked: what runs is what was checked. */
async function bound(
  { engine, caller, declared }: Omit<PlanChecks, 'catalog'>,
  { duckdb, session }: QueryPlan,
  stage: Stage,
  path: string,
  signal: AbortSignal,
): Promise<Stage> {
  const { fragment, output } = stage;
  const relations = fragment.tables.length > 0 ? fragment.tables : relationsOf(fragment);
  const custom = customOf(fragment, declared, `${path}/custom`);
  const tables = custom === null ? relations : [outputOf(custom)];
  const texts = [fragment.sql, fragment.custom?.input ?? ''].join('\n');
  const { functions } = customNamesIn(texts, declared);
  const ask = async (
    sql: string,
    columns: number | null,
    field: string,
    of: readonly PinnedTable[] = tables,
  ): Promise<LogicalAnswer> => {
    const own = { params: [], tables: of, functions, timeZone: session.timeZone, caller };
    const request = { sql, ...own };
    const answer = await engine.plan(request, signal).catch((error: unknown) => {
      throw isMillraceError(error) ? bad(field, error.message) : error;
    });
    if (answer.duckdb !== duckdb) {
      const what = `The plan is made for DuckDB ${duckdb}, but this server has ${answer.duckdb}.`;
      throw bad('/plan/duckdb', what);
    }
    if (columns !== null && answer.columns.length !== columns) {
      throw bad(field, `It returns ${answer.columns.length} columns, but ${columns} are declared.`);
    }
    return answer;
  };
  const { length } = fragment.columns;
  const { sql } = await ask(fragment.sql, length, `${path}/sql`);
  const partition = partitionOf(output);
  if (partition !== null) {
    // The same text that will run, so that the keys cannot mean something else there.
    const names = fragment.columns.map(({ name }) => name).join(', ');
    const whole = `SELECT *, ${partition} AS p FROM (\n${sql}\n) AS f(${names})`;
    await ask(whole, length + 1, path.replace(/fragment$/, 'output/by'));
  }
  const checked: Stage = { ...stage, fragment: { ...fragment, sql } };
  const [made] = withFunctions({ stages: [checked] }, functions).stages;
  if (custom === null || fragment.custom === undefined) return made ?? checked;
  const isRelation = relations.some(({ name }) => name === fragment.custom?.input);
  const { input } = fragment.custom;
  const query = isRelation ? null : await ask(input, null, `${path}/custom/input`, relations);
  const seen = query === null ? null : seenBy(custom, fragment.custom, query, `${path}/custom`);
  const call = { ...fragment.custom, ...seen };
  const reason = custom.isDeterministic ? null : `operator ${custom.name} is not deterministic`;
  return {
    ...(made ?? checked),
    fragment: { ...fragment, sql, custom: call },
    nonDeterministic: stage.nonDeterministic ?? reason,
    requires: [...new Set([...(made ?? checked).requires, custom.name])],
  };
}

/** The declaration of the operator that a fragment calls; null if it calls none. */
function customOf(
  { custom, scans, inputs }: Fragment,
  declared: readonly OperatorDeclaration[],
  path: string,
): OperatorDeclaration | null {
  if (custom === undefined) return null;
  const operators = declared.filter(({ kind }) => kind === 'operator');
  const found = operators.find(({ name }) => name === custom.op_name);
  if (found === undefined) {
    const names = operators.map(({ name }) => name);
    const what = `There is no operator '${custom.op_name}'.${didYouMean(custom.op_name, names)}`;
    throw bad(`${path}/op_name`, what, 'A worker that has it must have registered once.');
  }
  if ([...scans, ...inputs].some(({ relation }) => relation === CUSTOM_RELATION))
    throw bad(path, `The name '${CUSTOM_RELATION}' is taken: it is what the operator returns.`);
  try {
    checkParameters(found, custom.params);
    return withOwnTypes(found);
  } catch (error) {
    throw bad(`${path}/params`, error instanceof Error ? error.message : String(error));
  }
}

/** What the operator sees: its input with the declared names and types, and parameters that name its columns. */
function seenBy(
  custom: OperatorDeclaration,
  { params }: CustomCall,
  { columns, sql }: LogicalAnswer,
  path: string,
): Pick<CustomCall, 'input' | 'params'> {
  const at = <T>(field: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw bad(`${path}/${field}`, error instanceof Error ? error.message : String(error));
    }
  };
  const { input } = at('input', () => inputOf(custom, { columns }));
  const names = input.map(({ name }) => name);
  const list = input.map(({ sql: value, name }) => `${value} AS ${quotedName(name)}`);
  const inner = input.map((_, no) => `c${no}`).join(', ');
  return {
    input: `SELECT ${list.join(', ')} FROM (\n${sql}\n) AS i(${inner})`,
    params: at('params', () => withColumns(custom, params, names)),
  };
}

/** What the operator returns, without rows. */
function outputOf({ output }: OperatorDeclaration): PinnedTable {
  return emptyRelation(
    CUSTOM_RELATION,
    output.map(({ type }) => type),
  );
}

/** The relations that a fragment may read, without rows. */
function relationsOf({ scans, inputs }: Fragment): readonly PinnedTable[] {
  return [...scans, ...inputs].map(({ relation, columns }) => {
    return emptyRelation(
      relation,
      columns.map(({ type }) => type),
    );
  });
}

function emptyRelation(name: string, types: readonly string[]): PinnedTable {
  const list = types.map((type, at) => `CAST(NULL AS ${type}) AS c${at}`);
  const select = `SELECT ${list.length === 0 ? '1 AS c0' : list.join(', ')} WHERE false`;
  return { name, format: 'parquet', files: [], columns: [], options: '', select, root: null };
}

function refuseTable(name: string, path: string): never {
  throw new MillraceError({
    code: 'table_missing',
    path,
    what: `There is no table '${name}'.`,
    todo: 'Name the tables of the plan in `tables`, or in the catalog.',
  });
}

/** The plan is a field of the request. */
function within<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isMillraceError(error, 'bad_input')) throw error;
    const { what, why, todo } = error;
    throw new MillraceError({
      code: 'bad_input',
      path: `/plan${error.path ?? ''}`,
      what,
      why,
      todo,
      cause: error,
    });
  }
}
