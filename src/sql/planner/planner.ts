/**
 * Plans queries: pins the tables, lets DuckDB plan, splits the plan into stages and tasks, and returns a job. The
 * number of concurrent plans and the time of each are limited.
 */
import type { CatalogPort } from '../catalog/index.ts';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { OperatorDeclaration, Settings } from '../../scheduler/core/index.ts';
import type { QueryFigures } from '../../scheduler/contract/index.ts';
import { isCacheable, sqlTime, withQuotedParameters } from '../engine/index.ts';
import type { Command, PlanRequest, PlanningEngine } from '../engine/index.ts';
import { FairGate } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import {
  EXPLAIN_COLUMNS,
  EXPLAIN_KEYS,
  QUERY_JOB_DEFAULTS,
  balanceScans,
  bindFault,
  boundStages,
  coalescedStages,
  splitQuery,
  explainPlan,
  planQuery,
  queryJob,
  smallQuery,
  quotedText,
} from '../plan/index.ts';
import type {
  Coalescing,
  SplitQueryInput,
  PinnedTable,
  PlanInput,
  QueryJob,
  QueryPlan,
} from '../plan/index.ts';
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
  readonly engine: Pick<PlanningEngine, 'plan' | 'bind' | 'split'>;
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
/** Size of a plan with its estimates as JSON: up to this, splitting takes about 20 ms at most. */
const SMALL_CHARS = 64 * 1024;

const UNBOUND =
  'DuckDB binds one of its fragments differently from the whole query; the log of the leader has the details';

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
    const { singleFragmentBytes } = settings;
    const isPlain = asked.functions === undefined && singleFragmentBytes > 0;
    const wholeUpTo = isPlain ? { wholeUpToBytes: singleFragmentBytes } : {};
    const answer = await this.#options.engine.plan({ ...asked, ...wholeUpTo }, signal).catch(atSql);
    const { sql, columns, session, duckdb, smallBytes } = answer;
    const { tables, functions, scope } = asked;
    const input = { sql, columns, session, duckdb, tables, settings };
    if (smallBytes !== undefined) {
      const whole = { ...input, logical: null, whyNot: null };
      return { plan: smallQuery(whole, smallBytes), isSound: true };
    }
    const logical = { plan: answer.plan, whyNot: answer.whyNot, estimates: answer.estimates };
    const distributed = await this.#distribute({ ...input, ...logical }, asked.caller, signal);
    const named = { ...input, scope, ...(functions === undefined ? {} : { functions }) };
    const { plan, isSound } = await this.#bound(distributed, named, asked.caller, signal);
    // A missing plan or estimate may have a transient cause, so such a plan is not cached.
    const isWhole = answer.plan !== null && answer.estimates !== null;
    return { plan, isSound: isSound && isWhole };
  }

  /** A small plan is split in milliseconds. A large one may take as long as its author likes, so the engine does it. */
  async #distribute(
    input: SplitQueryInput,
    caller: string | undefined,
    signal: AbortSignal,
  ): Promise<DistributedPlan> {
    const { engine, onFault } = this.#options;
    const chars = (input.plan?.length ?? 0) + (input.estimates?.length ?? 0);
    const { plan, faults } =
      chars <= SMALL_CHARS ? splitQuery(input) : await engine.split(input, signal, caller);
    for (const fault of faults) onFault(fault);
    return { plan, isSound: faults.length === 0 };
  }

  /**
   * DuckDB decides what a fragment means. If it refuses a fragment, or binds it to other types than planned, the
   * query would fail on a worker or return something else, so it runs as a single fragment.
   */
  async #bound(
    distributed: DistributedPlan,
    input: Omit<PlanInput, 'logical' | 'whyNot'> & Pick<PlanRequest, 'functions' | 'scope'>,
    caller: string | undefined,
    signal: AbortSignal,
  ): Promise<DistributedPlan> {
    const { plan } = distributed;
    if (plan.single !== null) return distributed;
    const { tables, session, scope, functions = [] } = input;
    try {
      const stages = boundStages(plan);
      const turn = caller === undefined ? {} : { caller };
      const { lookups = [] } = plan;
      const known = { tables, functions, scope, timeZone: session.timeZone };
      const request = { stages, lookups, ...known, ...turn };
      const bound = await this.#options.engine.bind(request, signal);
      const fault = bindFault(plan, bound);
      if (fault === null) {
        const keys = 'keys' in bound ? bound.keys : [];
        return { ...distributed, plan: balanceScans(plan, keys, tables) };
      }
      this.#options.onFault(
        new Error(`DuckDB binds a fragment differently from the plan: ${fault}`),
      );
      return { plan: planQuery({ ...input, logical: null, whyNot: UNBOUND }), isSound: true };
    } catch (error) {
      if (signal.aborted) throw error;
      this.#options.onFault(error);
      return { plan: planQuery({ ...input, logical: null, whyNot: UNBOUND }), isSound: false };
    }
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
