import type { MillraceError } from '../../../scheduler/core/index.ts';
import { FairGate } from '../../../kit/index.ts';
import type { PinnedTable, QueryPlan } from '../../plan/index.ts';
import type {
  DistributedQuery,
  DistributeRequest,
  EngineLimits,
  LogicalAnswer,
  OperatorsRequest,
  PlanningEngine,
  PlanRequest,
  TableDescription,
  TableSource,
} from '../engine.ts';
import { placeholderSelect, TEXT_SHARE } from '../../plan/index.ts';
import type {
  Answers,
  DistributeCall,
  Fault,
  PlanCall,
  Position,
  TableBytes,
} from '../messages.ts';
import { openFiles } from '../sql/open-files.ts';
import type { FoundCall } from '../sql/operator-calls.ts';
import { pointedAt, type Statement, statementOf } from '../sql/statement.ts';
import { CallFailed } from './engine-process.ts';
import { errorOf } from './errors.ts';
import { IsolatingEngine } from './isolating-engine.ts';

/** Concurrent plans in the shared process, and as many descriptions of tables. */
const AT_ONCE = 4;
/** Nearly all plans take milliseconds. One that takes longer while others wait is restarted in a process of its own. */
const QUICK_MS = 2_000;
/** DuckDB does not check for interrupts in some parts of planning, so the process is killed soon. */
const GRACE_MS = 500;

export function startPlanningEngine(limits: EngineLimits): PlanningEngine {
  return new ChildPlanningEngine(limits);
}

/** Below the leader and tasks, but a client is waiting for the plan. */
const PLANNING_NICENESS = 5;

class ChildPlanningEngine implements PlanningEngine {
  readonly #process: IsolatingEngine;
  readonly #plans = new FairGate({ max: AT_ONCE });
  readonly #descriptions = new FairGate({ max: AT_ONCE });

  constructor(limits: EngineLimits) {
    this.#process = new IsolatingEngine({
      limits,
      isPlanning: true,
      purpose: 'planning',
      callsMax: 2 * AT_ONCE,
      graceMs: GRACE_MS,
      niceness: PLANNING_NICENESS,
    });
  }

  async describe(source: TableSource, signal: AbortSignal): Promise<TableDescription> {
    try {
      return await this.#process.call({ name: 'describe', source }, signal, {
        turns: this.#descriptions,
      });
    } catch (error) {
      throw error instanceof CallFailed ? errorOf(error.fault) : error;
    }
  }

  async operators(
    { sql, operators, caller = '' }: OperatorsRequest,
    signal: AbortSignal,
  ): Promise<readonly FoundCall[]> {
    try {
      const call = { name: 'operators', sql, operators } as const;
      const options = { caller, turns: this.#plans, quickMs: QUICK_MS };
      return await this.#process.call(call, signal, options);
    } catch (error) {
      const own = { sql, placeOf: (at: number) => at };
      throw error instanceof CallFailed ? pointed(error.fault, sql, own) : error;
    }
  }

  async plan(request: PlanRequest, signal: AbortSignal): Promise<LogicalAnswer> {
    const statement = statementOf(request);
    const call = { name: 'plan', ...planCall(request, statement) } as const;
    const answer = await this.#asked(call, request, statement, signal);
    return { sql: statement.sql, ...answer };
  }

  async distribute(request: DistributeRequest, signal: AbortSignal): Promise<DistributedQuery> {
    const statement = statementOf(request);
    const { tables: pinned, settings } = request;
    const own = { name: 'distribute', pinned, settings } as const;
    const call = { ...own, ...planCall(request, statement) };
    const { plan, ...answer } = await this.#asked(call, request, statement, signal);
    return { ...answer, plan: JSON.parse(plan) as QueryPlan };
  }

  async #asked<Call extends PlanCall | DistributeCall>(
    call: Call,
    { sql, caller = '' }: PlanRequest,
    statement: Statement,
    signal: AbortSignal,
  ): Promise<Answers[Call['name']]> {
    try {
      const options = { caller, turns: this.#plans, quickMs: QUICK_MS };
      return await this.#process.call(call, signal, options);
    } catch (error) {
      throw error instanceof CallFailed ? pointed(error.fault, sql, statement) : error;
    }
  }

  warm(): Promise<string> {
    return this.#process.warm();
  }

  close(): Promise<void> {
    return this.#process.close();
  }
}

/** A PIVOT may have columns that depend on the data: DuckDB reads it to plan. */
const READS_DATA = /pivot/i;

function planCall(
  { tables, functions, scope, timeZone, wholeUpToBytes: upToBytes }: PlanRequest,
  { sql }: Statement,
): Omit<PlanCall, 'name'> {
  const readsData = READS_DATA.test(sql);
  return {
    sql,
    timeZone,
    small: upToBytes === undefined ? null : { upToBytes, tables: tables.map(bytesOf) },
    ...placeOf(readsData ? tables : tables.map(planned), scope, functions),
    readsData,
  };
}

/** DuckDB cannot write a plan that reads text files, so it plans over rows that stand for them. */
function planned(table: PinnedTable): PinnedTable {
  return table.lines === undefined ? table : { ...table, select: placeholderSelect(table) };
}

/** The instance of the child that plans over these tables. */
function placeOf(
  tables: readonly PinnedTable[],
  scope: PlanRequest['scope'],
  functions: PlanCall['functions'] = [],
): Pick<PlanCall, 'scope' | 'tables' | 'files' | 'functions'> {
  const real = tables.filter(({ isPlaceholder }) => isPlaceholder !== true);
  return {
    ...(scope === undefined ? {} : { scope }),
    tables: tables.map(({ name, select }) => ({ name, select })),
    files: openFiles(real.flatMap(({ files }) => files)),
    functions,
  };
}

/** As for distributing a query: see `scanBytes`. */
function bytesOf({ name, format, files, columns }: PinnedTable): TableBytes {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (format !== 'parquet') return { name, bytes: bytes * TEXT_SHARE, columns: null };
  const sizes = columns.map((column) => [column.name, column.bytes ?? bytes] as const);
  return { name, bytes, columns: sizes };
}

/** DuckDB's message, with the position in the user's text. */
function pointed(fault: Fault, sql: string, { sql: text, placeOf }: Statement): MillraceError {
  if (fault.position === undefined) return errorOf(fault);
  const { where, shown } = pointedAt(sql, placeOf(unitsUpTo(text, fault.position)));
  return errorOf({
    ...fault,
    what: `${where}: ${fault.what}`,
    why: [`\n${shown}`, fault.why].filter((part) => part !== undefined).join('\n'),
  });
}

/** In UTF-16 units, like JavaScript strings. */
function unitsUpTo(text: string, { at, unit }: Position): number {
  if (unit === 'byte') return Buffer.from(text).subarray(0, at).toString().length;
  let units = 0;
  let characters = 0;
  for (const character of text) {
    if (characters === at) break;
    characters += 1;
    units += character.length;
  }
  return units;
}
