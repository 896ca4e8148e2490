/**
 * Plans queries with custom operators. DuckDB cannot bind such a call, so the query is cut at each of them, innermost
 * first: what the operator reads is planned as a query of its own, and the query around it reads a placeholder table
 * with the declared columns.
 */
import { MillraceError, didYouMean, isMillraceError } from '../../scheduler/core/index.ts';
import type { OperatorDeclaration } from '../../scheduler/core/index.ts';
import { callText } from '../engine/index.ts';
import type { FoundCall, PlanningEngine } from '../engine/index.ts';
import { PlanComposer, placeholderTable, quotedName } from '../plan/index.ts';
import type { OperatorStep, PinnedTable, QueryPlan } from '../plan/index.ts';
import { wordsIn } from './custom-names.ts';

export interface OperatorQueryOptions {
  /** With types as DuckDB writes them. */
  readonly operators: ReadonlyMap<string, OperatorDeclaration>;
  readonly engine: Pick<PlanningEngine, 'operators'>;
  readonly tables: readonly PinnedTable[];
  readonly caller?: string | undefined;
  /** Plans a part of the query over these tables. */
  readonly plan: (sql: string, tables: readonly PinnedTable[]) => Promise<QueryPlan>;
}

/** More than any query has; each costs a round of planning. */
const CALLS_MAX = 100;
const DEPTH_MAX = 20;
const PREFIX = 'millrace_operator_';

interface Part {
  readonly sql: string;
  readonly placeholders: readonly PinnedTable[];
}

export class OperatorQuery {
  readonly #options: OperatorQueryOptions;
  readonly #composer = new PlanComposer();
  /** Equal calls over equal queries are computed once. */
  readonly #known = new Map<string, PinnedTable>();

  constructor(options: OperatorQueryOptions) {
    this.#options = options;
  }

  /** `sql` has its parameters inlined, and the names of operators' parameters quoted. */
  async plan(sql: string, signal: AbortSignal): Promise<QueryPlan> {
    const part = await this.#cut(sql, signal, 0);
    return this.#composer.finish(sql, await this.#planned(part));
  }

  async #cut(sql: string, signal: AbortSignal, depth: number): Promise<Part> {
    const { engine, operators, caller } = this.#options;
    const words = wordsIn(sql);
    const names = [...operators.keys()].filter((name) => words.has(name));
    if (names.length === 0) return { sql, placeholders: [] };
    if (depth > DEPTH_MAX) throw bad(`More than ${DEPTH_MAX} operators are nested.`);
    const turn = caller === undefined ? {} : { caller };
    const calls = await engine.operators({ sql, operators: names, ...turn }, signal);
    const placeholders: PinnedTable[] = [];
    let text = '';
    let at = 0;
    for (const call of calls) {
      const piece = callText(sql, call.at);
      if (piece === null) throw bad(`The call of the operator ${call.name} cannot be read.`);
      const table = await this.#operator(call, piece.input, signal, depth);
      placeholders.push(table);
      const declaration = this.#declared(call.name);
      const list = declaration.output.map(({ name }, no) => `c${no} AS ${quotedName(name)}`);
      const alias = call.hasAlias ? '' : ` AS ${quotedName(call.name)}`;
      text += `${sql.slice(at, piece.from)}(SELECT ${list.join(', ')} FROM ${table.name})${alias}`;
      at = piece.to;
    }
    return { sql: text + sql.slice(at), placeholders };
  }

  #declared(name: string): OperatorDeclaration {
    return this.#options.operators.get(name) as OperatorDeclaration;
  }

  async #operator(
    call: FoundCall,
    input: string,
    signal: AbortSignal,
    depth: number,
  ): Promise<PinnedTable> {
    const key = JSON.stringify([call.name, call.params, input]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const declaration = this.#declared(call.name);
    checkParameters(declaration, call.params);
    const plan = await this.#planned(await this.#cut(input, signal, depth + 1)).catch(
      (error: unknown) => {
        throw ofInput(declaration.name, error);
      },
    );
    if (this.#known.size >= CALLS_MAX) throw bad(`More than ${CALLS_MAX} operators are called.`);
    const placeholder = this.#name();
    const { output } = declaration;
    const seen = inputOf(declaration, plan);
    const columns = seen.input.map(({ name }) => name);
    const params = withColumns(declaration, call.params, columns);
    const step = { declaration, params, plan, ...seen };
    const made = this.#composer.add({ placeholder, ...step });
    const types = output.map(({ type }) => type);
    const table = placeholderTable({ name: placeholder, types, ...made });
    this.#known.set(key, table);
    return table;
  }

  #name(): string {
    const taken = new Set(this.#options.tables.map(({ name }) => name.toLowerCase()));
    let no = this.#known.size;
    while (taken.has(`${PREFIX}${no}`)) no += CALLS_MAX;
    return `${PREFIX}${no}`;
  }

  /** Only over the tables that it may mention: a part that runs as a single fragment opens all that it is given. */
  #planned({ sql, placeholders }: Part): Promise<QueryPlan> {
    const words = wordsIn(sql);
    const tables = this.#options.tables.filter(({ name }) => words.has(name.toLowerCase()));
    return this.#options.plan(sql, [...tables, ...new Set(placeholders)]);
  }
}

/** Throws `bad_query` if a parameter is unknown, missing or of another type. */
export function checkParameters(
  { name, parameters }: OperatorDeclaration,
  given: Readonly<Record<string, unknown>>,
): void {
  if (parameters === null) return;
  const names = parameters.map((each) => each.name);
  for (const key of Object.keys(given))
    if (!names.includes(key))
      throw bad(
        `The operator ${name} has no parameter '${key}'.${didYouMean(key, names)}`,
        names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`,
      );
  for (const { name: key, type, isRequired } of parameters) {
    const value = given[key];
    if (value === undefined && isRequired)
      throw bad(`The parameter '${key}' of the operator ${name} is missing.`);
    const isText = type === 'column';
    if (value === undefined || type === 'json' || typeof value === (isText ? 'string' : type))
      continue;
    const wanted = isText ? 'the name of a column' : `a ${type}`;
    throw bad(
      `The parameter '${key}' of the operator ${name} must be ${wanted}, not ${JSON.stringify(value)}.`,
    );
  }
}

/** With names of columns as the input has them. Throws `bad_query` for one that it does not have. */
export function withColumns(
  { name, parameters }: OperatorDeclaration,
  given: Readonly<Record<string, unknown>>,
  columns: readonly string[],
): Readonly<Record<string, unknown>> {
  const made: Record<string, unknown> = { ...given };
  for (const { name: key, type } of parameters ?? []) {
    const value = given[key];
    if (type !== 'column' || typeof value !== 'string') continue;
    const found = columns.find((column) => column.toLowerCase() === value.toLowerCase());
    if (found === undefined) throw noColumn(name, value, columns, ` (parameter '${key}')`);
    made[key] = found;
  }
  return made;
}

function noColumn(
  operator: string,
  wanted: string,
  columns: readonly string[],
  where = '',
): MillraceError {
  const hint = didYouMean(wanted, columns);
  return bad(
    `The input of the operator ${operator} has no column '${wanted}'${where}.${hint}`,
    `Its columns are ${columns.join(', ')}.`,
  );
}

/** A name that the input does not know may be one of a table beside the call. */
function ofInput(operator: string, error: unknown): unknown {
  if (!isMillraceError(error, 'bad_query') || !UNKNOWN_NAME.test(error.what)) return error;
  const { what, todo } = error;
  return new MillraceError({
    code: 'bad_query',
    what: `The input of the operator ${operator} is not valid: ${what}`,
    why:
      'It is a query of its own and sees no column of a table beside the call (LATERAL): an operator returns its own ' +
      'columns only, so its rows could not be matched with the rows of that table',
    todo:
      todo ?? 'Give the operator all rows with their key, let it return the key, and join by it.',
    cause: error,
  });
}

const UNKNOWN_NAME = /not found|does not have a column|no such/i;

/** What the operator sees of the query that it reads. */
export function inputOf(
  { name, input, distribution }: OperatorDeclaration,
  { columns }: Pick<QueryPlan, 'columns'>,
): Pick<OperatorStep, 'input' | 'keys'> {
  const names = columns.map((column) => column.name.toLowerCase());
  const twice = columns.find((column, at) => names.indexOf(column.name.toLowerCase()) !== at);
  if (twice !== undefined)
    throw bad(`The input of the operator ${name} has two columns named '${twice.name}'.`);
  const find = (wanted: string): number => {
    const at = names.indexOf(wanted.toLowerCase());
    if (at >= 0) return at;
    throw noColumn(
      name,
      wanted,
      columns.map((column) => column.name),
    );
  };
  const declared = new Map((input ?? []).map((column) => [find(column.name), column]));
  return {
    input: columns.map((column, at) => {
      const own = declared.get(at);
      if (own === undefined || own.type === column.type)
        return { sql: `c${at}`, name: own?.name ?? column.name };
      return { sql: `CAST(c${at} AS ${own.type})`, name: own.name };
    }),
    keys: typeof distribution === 'object' ? distribution.hash.map(find) : [],
  };
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_query', what, todo });
}
