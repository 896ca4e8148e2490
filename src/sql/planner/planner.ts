/**
 * Plans queries: pins the tables, lets DuckDB plan, splits the plan into stages and tasks, and returns a job. The
 * number of concurrent plans and the time of each are limited.
 */
import type { CatalogPort } from '../catalog/index.ts';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { OperatorDeclaration, Settings } from '../../scheduler/core/index.ts';
import type { QueryFigures } from '../../scheduler/contract/index.ts';
import { isCacheable, sqlTime, withQuotedParameters } from '../engine/index.ts';
import type { Command, DistributedQuery, PlanRequest, PlanningEngine } from '../engine/index.ts';
import { FairGate } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import {
  EXPLAIN_COLUMNS,
  EXPLAIN_KEYS,
  QUERY_JOB_DEFAULTS,
  coalescedStages,
  explainPlan,
  planQuery,
  queryJob,
  quotedText,
} from '../plan/index.ts';
import type { Coalescing, PinnedTable, PlanInput, QueryJob, QueryPlan } from '../plan/index.ts';
import { type CustomNames, customNamesIn, withFunctions } from './custom-names.ts';
import { OperatorQuery } from './operator-query.ts';
import { PlanCache, planKey } from './plan-cache.ts';
import { tookTooLong, tooManyWait } from './refusals.ts';
import { readRequest } from './request.ts';
import type { QueryRequest } from './request.ts';
import { coalescing, planSettings, type Processors } from './settings.ts';
import { atSql, commandIn, tableNames, textOf } from './sql-text.ts';
import { checkedPlan } from './submitted-plan.ts';

export interface QueryPlannerOptions {
  readonly catalog: CatalogPort;
  readonly engine: Pick<PlanningEngine, 'plan' | 'distribute'>;
  /** The scheduler's. */
  readonly settings: Settings;
  /** The custom operators and functions that workers have declared, and how to find their calls in a statement. */
  readonly custom?: {
    readonly declared: () => readonly OperatorDeclaration[];
    readonly engine: Pick<PlanningEngine, 'operators'>;
  };
  /** How many fragments the cluster can run at the same time. */
  readonly slots: () => number;
  /** How many processors a single fragment would have now; 0 if not given. */
  readonly processorsOfOne?: () => number;
  readonly clock: Clock;
  /** Called with an unexpected error while splitting a plan; the query then runs as a single fragment. */
  readonly onFault: (error: unknown) => void;
  /** The limit for resolving the tables and planning. */
  readonly planMs: number;
  readonly atOnce?: number;
  readonly perCallerMax?: number;
  readonly waitingMax?: number;
}

export type PlannerFigures = Pick<
  QueryFigures,
  'plans' | 'planHits' | 'plansFailed' | 'planningMs' | 'planningNow'
>;

export interface QueryExplanation {
  readonly plan: QueryPlan;
  readonly text: string;
}

/** Most of these wait for the disk or for the engine, which has limits of its own. */
const AT_ONCE = 12;
/** Slow plans of one caller leave room for others. */
const PER_CALLER_MAX = 6;
const WAITING_MAX = 200;
const ANYBODY = '';
/** What ends an engine, rather than the call alone. */
const ENGINE_FAULTS: ReadonlySet<string> = new Set(['engine_crashed', 'out_of_memory']);
const NOT_SPLIT = 'the engine did not survive splitting it; the log of the leader has the details';

interface Planned {
  readonly kind: Command['kind'];
  readonly request: QueryRequest;
  readonly plan: QueryPlan;
  readonly tables: readonly PinnedTable[];
  readonly scope: string;
}

interface DistributedPlan {
  readonly plan: QueryPlan;
  /** No unexpected error occurred. */
  readonly isSound: boolean;
}

export class SqlPlanner {
  readonly #options: QueryPlannerOptions;
  readonly #gate: FairGate;
  readonly #cache: PlanCache;
  #plans = 0;
  #hits = 0;
  #failed = 0;
  #ms = 0;

  constructor(options: QueryPlannerOptions) {
    this.#options = options;
    const { atOnce = AT_ONCE, perCallerMax = PER_CALLER_MAX, waitingMax = WAITING_MAX } = options;
    const full = (): Error => tooManyWait(waitingMax);
    this.#gate = new FairGate({ max: atOnce, perCallerMax, waitingMax, full });
    this.#cache = new PlanCache({ clock: options.clock });
  }

  figures(): PlannerFigures {
    return {
      plans: this.#plans,
      planHits: this.#hits,
      plansFailed: this.#failed,
      planningMs: Math.round(this.#ms),
      planningNow: this.#gate.inside,
    };
  }

  /** Takes an unchecked request. Callers are served in turn. */
  async plan(request: unknown, signal: AbortSignal, caller: string = ANYBODY): Promise<QueryJob> {
    return this.#measured(signal, caller, async (within) => {
      const planned = await this.#planned(request, within, caller);
      const { plan, tables, scope, request: asked } = await this.#runnable(planned, within, caller);
      const { about, settings } = asked;
      const { maxAttempts, timeoutMs, memoryBytes, stragglerFactor } = settings;
      const isOwnPlan = asked.sql !== null;
      const own = isOwnPlan ? coalesced(plan, coalescing(settings)) : plan;
      return queryJob(own, tables, this.#options.settings, {
        ...QUERY_JOB_DEFAULTS,
        maxParallel: this.#options.settings.tasksPerQuery,
        ...about,
        isOwnPlan,
        ...{ maxAttempts, timeoutMs, memoryBytes, stragglerFactor, scope },
        processors: Math.max(1, this.#options.slots()),
      });
    });
  }

  /** Returns the plan without running it; also that of a query after EXPLAIN. */
  async explain(
    request: unknown,
    signal: AbortSignal,
    caller: string = ANYBODY,
  ): Promise<QueryExplanation> {
    return this.#measured(signal, caller, async (within) => {
      const { plan } = await this.#planned(request, within, caller);
      return { plan, text: explainPlan(plan) };
    });
  }

  async #planned(value: unknown, signal: AbortSignal, caller: string): Promise<Planned> {
    const { catalog, engine } = this.#options;
    const request = readRequest(value);
    const { params, timeZone, sql: text } = request;
    const scope = await catalog.scope(request.tables);
    if (text === null) {
      const declared = this.#options.custom?.declared() ?? [];
      const checks = { catalog, engine, caller, declared };
      const checked = await checkedPlan(request, checks, signal);
      return { kind: 'query', request, scope, ...checked };
    }
    const command = commandIn(text);
    const { kind } = command;
    const isQuery = command.kind !== 'show tables';
    const sql = isQuery ? command.sql : tableNames(await catalog.names(request.tables));
    const named = { tables: request.tables, sql };
    const planned = async (tables: readonly PinnedTable[]): Promise<Planned> => {
      const asked = { sql, params, tables, scope, timeZone, caller };
      const settings = planSettings(request.settings, this.#processors());
      const plan = await this.#planOf(asked, settings, signal);
      return { kind, request, tables, scope, plan: isQuery ? plan : { ...plan, sql: text } };
    };
    if (!isQuery) return planned([]);
    try {
      return await planned(await catalog.resolve(named, signal));
    } catch (error) {
      if (!isMillraceError(error) || error.code !== 'table_missing') throw error;
      // With all tables of the request at hand, the refusal can say which one may be meant.
      return planned(await catalog.resolve({ ...named, isEach: true }, signal));
    }
  }

  #processors(): Processors {
    const { slots, processorsOfOne } = this.#options;
    return { slots: slots(), ofOne: processorsOfOne?.() ?? 0 };
  }

  /** The rows of EXPLAIN are known already. EXPLAIN ANALYZE runs the query; its rows are made when it has finished. */
  async #runnable(planned: Planned, signal: AbortSignal, caller: string): Promise<Planned> {
    const { kind, request, plan } = planned;
    const { sql: text, timeZone, settings } = request;
    if (kind === 'query' || kind === 'show tables' || text === null) return planned;
    if (kind === 'analyze')
      return { ...planned, plan: { ...plan, sql: text, columns: EXPLAIN_COLUMNS, analyze: true } };
    const [key, value] = EXPLAIN_COLUMNS.map(({ name }) => name);
    const explanation = quotedText(explainPlan(plan));
    const sql = `SELECT ${quotedText(EXPLAIN_KEYS.plan)} AS ${key}, ${explanation} AS ${value}`;
    const asked = { sql, params: [], tables: [], timeZone, caller };
    const known = await this.#planOf(asked, planSettings(settings, this.#processors()), signal);
    return { ...planned, tables: [], plan: { ...known, sql: text } };
  }

  async #planOf(
    asked: PlanRequest,
    settings: PlanInput['settings'],
    signal: AbortSignal,
  ): Promise<QueryPlan> {
    const { custom } = this.#options;
    const given = textOf(asked);
    // Also if no such operator is known: then the answer should be that.
    const text = custom !== undefined && given.includes('=>') ? withQuotedParameters(given) : given;
    const names = customNamesIn(text, custom?.declared() ?? []);
    const key = isCacheable(text) ? planKey(text, asked, settings, names) : null;
    const known = key === null ? null : this.#cache.find(key);
    if (known !== null) {
      this.#hits += 1;
      return { ...known, session: { ...known.session, now: sqlTime() } };
    }
    const own = text === given ? asked : { ...asked, sql: text, params: [] };
    const isPlain = names.operators.size + names.functions.length === 0;
    const { plan, isSound } = isPlain
      ? await this.#made(own, settings, signal)
      : await this.#composed({ ...asked, sql: text, params: [] }, names, settings, signal);
    if (key !== null && isSound) this.#cache.keep(key, plan);
    return plan;
  }

  /** The plan of a query with custom operators or functions. */
  async #composed(
    asked: PlanRequest,
    { operators, functions }: CustomNames,
    settings: PlanInput['settings'],
    signal: AbortSignal,
  ): Promise<DistributedPlan> {
    const { custom } = this.#options;
    if (custom === undefined) return this.#made(asked, settings, signal);
    const { engine } = custom;
    const { tables, caller } = asked;
    let isSound = true;
    // An operator may rely on the order of its rows, which only a single task keeps.
    const inOneTask = { sortThresholdBytes: Number.MAX_SAFE_INTEGER };
    const own = operators.size > 0 ? { ...settings, ...inOneTask } : settings;
    const query = new OperatorQuery({
      ...{ operators, engine, tables, caller },
      plan: async (sql, of) => {
        const part = { ...asked, sql, tables: of, functions };
        const made = await this.#made(part, own, signal);
        isSound &&= made.isSound;
        return made.plan;
      },
    });
    const plan = await query.plan(asked.sql, signal).catch(atSql);
    return { plan: withFunctions(plan, functions), isSound };
  }

  async #made(
    asked: PlanRequest,
    settings: PlanInput['settings'],
    signal: AbortSignal,
  ): Promise<DistributedPlan> {
    const { engine, onFault } = this.#options;
    const { singleFragmentBytes } = settings;
    const isPlain = asked.functions === undefined && singleFragmentBytes > 0;
    const wholeUpTo = isPlain ? { wholeUpToBytes: singleFragmentBytes } : {};
    const { plan, faults, isSound } = await engine
      .distribute({ ...asked, ...wholeUpTo, settings }, signal)
      .catch((error: unknown) => this.#whole(error, asked, settings, signal))
      .catch(atSql);
    for (const fault of faults) onFault(fault);
    return { plan, isSound };
  }

  /** It may be the fragments that the engine died of. */
  async #whole(
    error: unknown,
    asked: PlanRequest,
    settings: PlanInput['settings'],
    signal: AbortSignal,
  ): Promise<DistributedQuery> {
    if (signal.aborted || !isMillraceError(error) || !ENGINE_FAULTS.has(error.code)) throw error;
    const { sql, columns, session, duckdb } = await this.#options.engine.plan(asked, signal);
    const input = { sql, columns, session, duckdb, tables: asked.tables, settings };
    const plan = planQuery({ ...input, logical: null, whyNot: NOT_SPLIT });
    return { plan, faults: [error.message], isSound: false };
  }

  async #measured<T>(
    signal: AbortSignal,
    caller: string,
    work: (within: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock, planMs } = this.#options;
    const leave = await this.#gate.enter(caller, signal);
    const startedMs = clock.monotonicMs();
    const late = new AbortController();
    const cancel = clock.after(planMs, () => late.abort(tookTooLong(planMs)));
    try {
      const made = await work(AbortSignal.any([signal, late.signal]));
      this.#plans += 1;
      return made;
    } catch (error) {
      this.#failed += 1;
      throw error;
    } finally {
      cancel();
      this.#ms += clock.monotonicMs() - startedMs;
      leave();
    }
  }
}

/** With leave to coalesce partitions, if a stage reads any. */
function coalesced(plan: QueryPlan, coalesce: Coalescing | null): QueryPlan {
  if (coalesce === null) return plan;
  const may = { ...plan, coalesce };
  return coalescedStages(may).length > 0 ? may : plan;
}

/** In DuckDB's format. */
