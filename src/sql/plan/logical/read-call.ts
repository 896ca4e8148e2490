/**
 * Reads function calls. A call is written by name over its arguments and bound again, so whatever DuckDB removed from
 * the arguments when it bound the call must be put back, or the call is refused.
 */
import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';
import type { ReadContext, ReadExpression } from './read-context.ts';
import { readType } from './read-type.ts';
import { BIGINT, plainType, type SqlType } from './type.ts';
import { Undistributable } from './undistributable.ts';

/**
 * Functions that return another value at each call, or have side effects. `error` is not one of them: it only ends
 * the query.
 */
const VOLATILE: ReadonlySet<string> = new Set([
  'currval',
  'gen_random_uuid',
  'nextval',
  'random',
  'setseed',
  'sleep_ms',
  'uuid',
  'uuidv4',
  'uuidv7',
  'write_log',
]);

/** Functions whose result depends on the process they run in. */
const ABOUT_SESSION: ReadonlySet<string> = new Set([
  'current_connection_id',
  'current_database',
  'current_query',
  'current_query_id',
  'current_schema',
  'current_schemas',
  'current_setting',
  'current_transaction_id',
  'getvariable',
  'in_search_path',
  'stats',
  'txid_current',
  'vector_type',
]);

/** Functions whose result depends on how a query is written rather than on a value. */
const ABOUT_TEXT: ReadonlySet<string> = new Set(['alias']);

const TIMESTAMPTZ = plainType('TIMESTAMP WITH TIME ZONE');
/** `now()` and related functions, as casts of the time at which the query was submitted. */
const MOMENTS: Readonly<Record<string, SqlType>> = {
  now: TIMESTAMPTZ,
  get_current_timestamp: TIMESTAMPTZ,
  transaction_timestamp: TIMESTAMPTZ,
  current_timestamp: TIMESTAMPTZ,
  today: plainType('DATE'),
  current_date: plainType('DATE'),
  get_current_time: plainType('TIME WITH TIME ZONE'),
  current_time: plainType('TIME WITH TIME ZONE'),
  current_localtime: plainType('TIME'),
  current_localtimestamp: plainType('TIMESTAMP'),
};

/** Functions with named arguments, whose names become fields of the result. */
const NAMED: ReadonlySet<string> = new Set(['struct_pack', 'struct_insert', 'union_value']);

/**
 * Functions for which the plan does not contain all that a call needs: the names of arguments, or their types before
 * DuckDB chose a comparison by them.
 */
const UNTOLD: ReadonlySet<string> = new Set([
  'struct_contains',
  'struct_has',
  'struct_indexof',
  'struct_position',
  'struct_update',
]);

export function readCall(node: PlanNode, context: ReadContext, read: ReadExpression): Expression {
  const name = node.at('name').text();
  const args = node
    .at('children')
    .list()
    .map((child) => read(child, context));
  const type = readType(node.at('return_type'));
  refuse(name, args.length);
  const moment = MOMENTS[name];
  if (moment !== undefined && args.length === 0) return momentOf(context, moment);
  const data = node.at('function_data');
  if (data.isThere && data.at('lambda_expr').isThere) {
    return readLambda({ node, name, args, type }, context, read);
  }
  if (node.at('original_arguments').list().length > 0) throw incomplete(name);
  if (UNTOLD.has(name)) throw incomplete(name);
  if (NAMED.has(name)) return { kind: 'call', name, args, names: namesOf(name, args, type), type };
  return { kind: 'call', name, args, type };
}

export function incomplete(name: string): Undistributable {
  return new Undistributable(`it calls ${name}() in a form that cannot be sent to other nodes`);
}

function refuse(name: string, args: number): void {
  if (VOLATILE.has(name)) {
    throw new Undistributable(`it calls the volatile function ${name}()`);
  }
  if (ABOUT_SESSION.has(name) || name.startsWith('__internal')) {
    throw new Undistributable(`it calls ${name}(), whose result depends on the process`);
  }
  if (ABOUT_TEXT.has(name)) {
    throw new Undistributable(`it calls ${name}(), whose result depends on the text of the query`);
  }
  // With one argument it measures from today.
  if (name === 'age' && args === 1) {
    throw new Undistributable('it calls age() with one argument, which depends on the current day');
  }
}

function momentOf(context: ReadContext, type: SqlType): Expression {
  const { now } = context.session;
  if (!/^[0-9: .+TZ-]+$/.test(now)) throw new Undistributable('the time of the query is not known');
  const moment: Expression = {
    kind: 'constant',
    sql: `CAST('${now}' AS ${TIMESTAMPTZ.sql})`,
    type: TIMESTAMPTZ,
  };
  return type === TIMESTAMPTZ ? moment : { kind: 'cast', input: moment, isTry: false, type };
}

function namesOf(name: string, args: readonly Expression[], type: SqlType): string[] {
  const names = type.names ?? [];
  // The existing fields come first; their values are the first argument.
  const own = name === 'struct_insert' ? args.length - 1 : args.length;
  const last = names.slice(names.length - own);
  if (last.length !== own || last.includes('')) throw incomplete(name);
  return last;
}

const OVER_ITEMS: ReadonlySet<string> = new Set(
  ['list_transform', 'array_transform', 'list_apply', 'array_apply', 'apply'].concat([
    'list_filter',
    'array_filter',
    'filter',
  ]),
);
const OVER_PAIRS: ReadonlySet<string> = new Set(['list_reduce', 'array_reduce', 'reduce']);

/**
 * In the plan, the body of a lambda refers to positions: its parameters, last one first, then the values captured
 * from the row around it, which are the further arguments of the call.
 */
function readLambda(
  { node, name, args, type }: CallParts,
  context: ReadContext,
  read: ReadExpression,
): Expression {
  const data = node.at('function_data');
  const [list, ...captured] = args;
  const element = list?.type.children?.[0];
  if (list === undefined || element === undefined) throw incomplete(name);
  const param = (of: SqlType): Param => ({ kind: 'param', param: context.nextParam(), type: of });
  const params: Param[] = [];
  if (OVER_ITEMS.has(name)) params.push(param(element));
  else if (OVER_PAIRS.has(name)) params.push(param(type), param(element));
  else throw incomplete(name);
  if (data.at('has_initial').bool()) throw incomplete(name);
  if (data.at('has_index').bool()) params.push(param(BIGINT));
  const places = [...params.toReversed(), ...captured];
  const body = read(data.at('lambda_expr'), { ...context, places });
  const lambda: Expression = {
    kind: 'lambda',
    params: params.map((of) => of.param),
    body,
    type: body.type,
  };
  return { kind: 'call', name, args: [list, lambda], type };
}

interface CallParts {
  readonly node: PlanNode;
  readonly name: string;
  readonly args: readonly Expression[];
  readonly type: SqlType;
}

type Param = Extract<Expression, { kind: 'param' }>;
