/** The text of a query: what it asks for, and faults of it as faults of the field `sql`. */
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import { commandOf, statementOf } from '../engine/index.ts';
import type { Command, PlanRequest } from '../engine/index.ts';
import { quotedText } from '../plan/index.ts';

export function commandIn(sql: string): Command {
  try {
    return commandOf(sql);
  } catch (error) {
    return atSql(error);
  }
}

export function tableNames(names: readonly string[]): string {
  const list = names.map(quotedText).join(', ');
  return `SELECT unnest(CAST([${list}] AS VARCHAR[])) AS name`;
}

/** The statement with its parameters inlined. */
export function textOf(asked: PlanRequest): string {
  try {
    return statementOf(asked).sql;
  } catch (error) {
    return atSql(error);
  }
}

const OF_SQL: ReadonlySet<string> = new Set(['bad_query', 'table_missing', 'path_refused']);

/** A fault of the statement is a fault of that field. */
export function atSql(error: unknown): never {
  if (!isMillraceError(error) || error.path !== undefined || !OF_SQL.has(error.code)) throw error;
  const { code, what, why, todo } = error;
  throw new MillraceError({ code, path: '/sql', what, why, todo, cause: error });
}
