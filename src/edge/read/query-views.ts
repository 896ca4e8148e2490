/**
 * Queries read from the store. A running one may be read several times a second, so what cannot change is
 * cached: the plan, and the figures of finished tasks. What is left is one row for the job and a narrow one for
 * each task.
 */
import { FRAGMENT_EXECUTOR, fragmentNo, jobNo, taskNo } from '../../scheduler/core/index.ts';
import type { Instant, JobId, JobNo, JobRow, TaskId, TaskRow } from '../../scheduler/core/index.ts';
import { type Clock, LruCache } from '../../kit/index.ts';
import { cursorOf, readCursor } from '../../scheduler/contract/index.ts';
import type {
  Dated,
  JobsQuery,
  Page,
  QueryReader,
  QueryShape,
  QuerySummary,
} from '../../scheduler/contract/index.ts';
import { PLAN_EXECUTOR, PLAN_TASK, readStoredPlan } from '../../sql/plan/index.ts';
import type { FragmentResult, QueryPlan, QueryRecord } from '../../sql/plan/index.ts';
import { refKey } from '../../scheduler/store/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { EndedQueries, removedIn, type EndingRows, type MeasuredPlan } from './ended-queries.ts';
import { heldTask, isQuery, nameOf, querySummary, taskCount } from './query-rows.ts';
import { firstTasks, queryShape } from './query-shape.ts';
import type { TaskFigures } from './query-shape.ts';
import { dateOf } from './row-shapes.ts';
import { decisionTasks, readDecision, type StageDecision } from './stage-decisions.ts';

export interface QueryViewsOptions {
  readonly store: Pick<Store, 'jobRow' | 'task' | 'taskRows' | 'results' | 'jobs' | 'lastSeq'>;
  readonly clock: Clock;
  readonly shard?: number;
  /** How long the rows of a finished query are kept. */
  readonly resultTtlMs: number;
  /** How long a finished query is kept, and shown; for good if not given. */
  readonly retentionMs?: number;
  /** What a task of a query waits for, as far as people should know, where this node leads. */
  readonly waiting?: (id: JobId, task: TaskId) => Promise<QueryShape['waiting']>;
  /** Whether this node leads and has no such query running any more. */
  readonly isOver?: (id: JobId) => boolean;
  /** What workers have registered of tasks that may not have ended, by `stage.task`, where this node leads. */
  readonly registered?: (id: JobId) => ReadonlyMap<string, TaskFigures>;
  /** Characters of all plans that are cached. */
  readonly planCharsMax?: number;
}

/** Queries whose plan and figures are kept. */
const KEPT_MAX = 200;
/** Of all plans that are cached, as text. */
const PLAN_CHARS_MAX: number = 16 * 1024 * 1024;
/** Job rows that are looked at for one page of queries. */
const LOOK_MAX = 2_000;
const LOOK_AT_ONCE = 500;

interface Kept extends MeasuredPlan {
  /** Another job may get its id some day, but not its number. */
  readonly no: JobNo;
  /** By task; `of` names the run and the assignment that they belong to. */
  readonly figures: Map<number, Figures>;
  /** By task that decides. */
  readonly decisions: Map<number, { readonly of: string; readonly decision: StageDecision }>;
  final: Final | null;
}

interface Figures {
  readonly of: string;
  readonly figures: TaskFigures;
  /** Of the last stage, when it is small: it will be asked for next. */
  readonly result: FragmentResult | null;
}

/** The answer for a query that has succeeded: nothing changes that any more. */
interface Final {
  readonly shape: QueryShape<Date>;
  readonly record: QueryRecord | null;
  /** When it was read. */
  readonly atMs: number;
}

/** The plan of a query that was submitted here. */
interface SubmittedPlan {
  readonly text: string;
  /** Null until it is needed. */
  plan: QueryPlan | null;
  readonly atMs: number;
}

/** A finished query may be removed, and another get its id, but not so soon. */
const FINAL_MS = 60_000;
const RESULT_CHARS_KEPT: number = 128 * 1024;
/** A longer plan is read from the store when it is asked for. */
const TOLD_CHARS_MAX: number = 256 * 1024;

export class QueryViews implements QueryReader {
  readonly #options: QueryViewsOptions;
  readonly #shard: number;
  readonly #kept: LruCache<JobId, Kept>;
  readonly #submitted: LruCache<JobId, SubmittedPlan>;
  readonly #finalMs: number;
  readonly #ended: EndedQueries;

  constructor(options: QueryViewsOptions) {
    this.#options = options;
    this.#shard = options.shard ?? 0;
    // A plan over thousands of files takes megabytes, so a limit on their number is not enough.
    const limits = { max: KEPT_MAX, weightMax: options.planCharsMax ?? PLAN_CHARS_MAX };
    this.#kept = new LruCache({ ...limits, weightOf: ({ chars }) => chars });
    this.#submitted = new LruCache({ ...limits, weightOf: ({ text }) => text.length });
    this.#finalMs = Math.min(FINAL_MS, options.retentionMs ?? FINAL_MS);
    this.#ended = new EndedQueries(options.clock, this.#finalMs);
  }

  /** This query was committed with this plan just now: it need not be read from the store. */
  tell(id: JobId, plan: string): void {
    for (const known of [this.#kept, this.#submitted]) known.delete(id);
    if (plan.length > TOLD_CHARS_MAX) return;
    const atMs = this.#options.clock.monotonicMs();
    this.#submitted.set(id, { text: plan, plan: null, atMs });
  }

  /** The leader in this process has committed these. */
  committed(rows: EndingRows): void {
    for (const id of removedIn(rows))
      for (const known of [this.#kept, this.#submitted]) known.delete(id);
    this.#ended.learn(rows, ({ id, no }) => {
      const kept = this.#kept.get(id);
      return kept?.no === no ? kept : this.#submittedPlan(id);
    });
  }

  /** Null when there is no such query. */
  async plan(id: JobId): Promise<QueryPlan | null> {
    const known = this.#kept.get(id) ?? this.#submittedPlan(id);
    if (known !== null) return known.plan;
    const job = await this.#options.store.jobRow(this.#shard, id);
    return job === null ? null : ((await this.#keep(job))?.plan ?? null);
  }

  /** What a task of a query was completed with; null unless it has succeeded. */
  async output(
    id: JobId,
    task: string,
  ): Promise<{ readonly attempt: number; readonly result: FragmentResult } | null> {
    const found = await this.#options.store.task(this.#shard, id, task as TaskId);
    if (found?.spec.executor !== FRAGMENT_EXECUTOR || found.result === null) return null;
    if (found.task.state !== 'succeeded') return null;
    return { attempt: found.task.attempt, result: JSON.parse(found.result) as FragmentResult };
  }

  async query(id: JobId): Promise<Dated<QueryShape<Date> | null>> {
    const { store, isOver } = this.#options;
    const final = this.#final(id);
    const looksOver = final === null && isOver?.(id) === true;
    const [{ seq, at }, early] = await Promise.all([
      store.lastSeq(this.#shard),
      looksOver ? store.jobRow(this.#shard, id) : null,
    ]);
    const asOf = { seq, at: dateOf(at) };
    if (final !== null) return { asOf, value: final.shape };
    // The log's head is read first, so that what is read after it shows at least as much. A succeeded query
    // stays so.
    const job = early?.state === 'succeeded' ? early : await store.jobRow(this.#shard, id);
    const kept = job === null ? null : await this.#keep(job);
    if (job === null || kept === null) return { asOf, value: null };
    return { asOf, value: await this.#shape(job, kept, at) };
  }

  async queries({
    state,
    limit,
    cursor,
  }: Omit<JobsQuery, 'name'>): Promise<Dated<Page<QuerySummary<Date>>>> {
    const { store } = this.#options;
    const { seq, at } = await store.lastSeq(this.#shard);
    let [before] = cursor === undefined ? [] : readCursor('queries', 1, cursor);
    const items: QuerySummary<Date>[] = [];
    // Other jobs lie between them: this many are skipped in one call, then the caller continues.
    for (let looked = 0; looked < LOOK_MAX; looked += LOOK_AT_ONCE) {
      const rows = await store.jobs(this.#shard, {
        ...(state === undefined ? {} : { state }),
        ...(before === undefined ? {} : { before: jobNo(before) }),
        limit: LOOK_AT_ONCE,
      });
      for (const row of rows) {
        if (items.length === limit) break;
        before = row.no;
        if (isQuery(row)) items.push(querySummary(row));
      }
      const isLast = rows.length < LOOK_AT_ONCE && before === rows.at(-1)?.no;
      const asOf = { seq, at: dateOf(at) };
      if (isLast || rows.length === 0) return { asOf, value: { items, cursor: null } };
      if (items.length === limit) break;
    }
    const next = before === undefined ? null : cursorOf('queries', [before]);
    return { asOf: { seq, at: dateOf(at) }, value: { items, cursor: next } };
  }

  /** Null when there is no such query. */
  async record(id: JobId): Promise<QueryRecord | null> {
    const { store, clock } = this.#options;
    const final = this.#final(id);
    if (final !== null && final.record !== null) {
      const passedMs = Math.floor(clock.monotonicMs() - final.atMs);
      return { ...final.record, now: (final.record.now + passedMs) as Instant };
    }
    const ended = this.#ended.find(id);
    if (ended !== null) return this.#record(ended.job, ended.plan, { ...ended, error: null });
    const asked = [store.lastSeq(this.#shard), store.jobRow(this.#shard, id)] as const;
    const [{ at: now }, job] = await Promise.all(asked);
    const kept = job === null ? null : await this.#keep(job);
    if (job === null || kept === null) return null;
    const { plan } = kept;
    const shape = job.state === 'failed' ? await this.#shape(job, kept, now) : null;
    const parts = job.state === 'succeeded' ? await this.#lastParts(job, plan) : [];
    return this.#record(job, plan, { error: shape?.error ?? job.error, parts, now });
  }

  #record(
    { id, state, finishedAt }: JobRow,
    plan: QueryPlan,
    { error, parts, now }: Pick<QueryRecord, 'error' | 'parts' | 'now'>,
  ): QueryRecord {
    const isDone = state === 'succeeded' && finishedAt !== null;
    const expiresAt = isDone ? ((finishedAt + this.#options.resultTtlMs) as Instant) : null;
    return { id, state, plan, expiresAt, error, parts, now };
  }

  #final(id: JobId): Final | null {
    const final = this.#kept.get(id)?.final ?? null;
    return this.#options.clock.monotonicMs() < (final?.atMs ?? 0) + this.#finalMs ? final : null;
  }

  async #shape(job: JobRow, kept: Kept, now: Instant): Promise<QueryShape<Date>> {
    const { resultTtlMs, waiting } = this.#options;
    // Nothing of a query that has succeeded is recomputed, so its results belong to its rows.
    const [tasks, results] = await Promise.all([
      this.#tasks(job, kept.plan),
      job.state === 'succeeded' ? this.#unknownResults(kept) : NO_RESULTS,
    ]);
    await this.#learn(job, kept, tasks, results);
    const { plan } = kept;
    const figures = this.#registered(job.id, plan);
    for (const [no, { figures: done }] of kept.figures) figures.set(no, done);
    const held = heldTask(plan, tasks);
    const waits = held !== null && waiting !== undefined ? await waiting(job.id, held) : null;
    const decisions = [...kept.decisions.values()].map(({ decision }) => decision);
    const known = { job, plan, tasks, figures, decisions, waiting: waits };
    const shape = queryShape({ ...known, resultTtlMs, now });
    if (job.state === 'succeeded') {
      const parts = keptParts(kept);
      const record = parts === null ? null : this.#record(job, plan, { error: null, parts, now });
      kept.final = { shape, record, atMs: this.#options.clock.monotonicMs() };
    }
    return shape;
  }

  /** Of tasks that have ended, their own figures say more. */
  #registered(id: JobId, { stages }: QueryPlan): Map<number, TaskFigures> {
    const firsts = firstTasks(stages);
    const found = new Map<number, TaskFigures>();
    for (const [name, figures] of this.#options.registered?.(id) ?? []) {
      const { stage, task } = fragmentNo(`s${name}`) ?? { stage: -1, task: 0 };
      const first = firsts[stage];
      if (first !== undefined) found.set(first + task, figures);
    }
    return found;
  }

  async #tasks(job: JobRow, plan: QueryPlan): Promise<readonly TaskRow[]> {
    const count = taskCount(plan) + decisionTasks(plan).length;
    const refs = Array.from({ length: count }, (_, no) => ({
      jobNo: job.no,
      taskNo: taskNo(no),
    }));
    const rows = await this.#options.store.taskRows(this.#shard, refs);
    return refs.flatMap((ref) => rows.get(refKey(ref.jobNo, ref.taskNo)) ?? []);
  }

  #unknownResults({ no, plan, figures, decisions }: Kept): Promise<ReadonlyMap<string, string>> {
    const tasks = Array.from({ length: taskCount(plan) }, (_, at) => taskNo(at));
    const fragments = tasks.filter((at) => at > 0 && !figures.has(at));
    const undecided = decisionTasks(plan).filter(({ no: at }) => !decisions.has(at));
    const unknown = [...fragments, ...undecided.map(({ no: at }) => taskNo(at))];
    return this.#results(
      no,
      unknown.map((at) => ({ taskNo: at })),
    );
  }

  /** Reads the results of tasks that are done and not known yet, but those that are at hand. */
  async #learn(
    job: JobRow,
    kept: Kept,
    tasks: readonly TaskRow[],
    atHand: ReadonlyMap<string, string>,
  ): Promise<void> {
    const deciding = new Map(decisionTasks(kept.plan).map((task) => [task.no, task]));
    const isNew = (task: TaskRow): boolean => {
      if (task.taskNo === 0 || task.state !== 'succeeded') return false;
      const known = deciding.has(task.taskNo) ? kept.decisions : kept.figures;
      return known.get(task.taskNo)?.of !== nameOf(task);
    };
    // A recomputed task has no metrics until it has ended.
    for (const task of tasks) {
      if (task.state === 'succeeded') continue;
      kept.figures.delete(task.taskNo);
      kept.decisions.delete(task.taskNo);
    }
    const fresh = tasks.filter(isNew);
    if (fresh.length === 0) return;
    const lastFirst = firstTasks(kept.plan.stages).at(-1) ?? 0;
    const missing = fresh.filter(({ taskNo }) => !atHand.has(refKey(job.no, taskNo)));
    const read = await this.#results(job.no, missing);
    for (const task of fresh) {
      const ref = refKey(job.no, task.taskNo);
      const result = atHand.get(ref) ?? read.get(ref);
      if (result === undefined) continue;
      const decides = deciding.get(task.taskNo);
      if (decides !== undefined) {
        const decision = readDecision(decides, result);
        kept.decisions.set(task.taskNo, { of: nameOf(task), decision });
        continue;
      }
      const parsed = JSON.parse(result) as FragmentResult;
      const { metrics, parts } = parsed;
      const figures = { metrics, partitionBytes: parts.map(({ bytes }) => bytes) };
      const isKept = task.taskNo >= lastFirst && result.length <= RESULT_CHARS_KEPT;
      const known = { of: nameOf(task), figures, result: isKept ? parsed : null };
      kept.figures.set(task.taskNo, known);
    }
  }

  async #results(
    job: JobNo,
    tasks: readonly Pick<TaskRow, 'taskNo'>[],
  ): Promise<ReadonlyMap<string, string>> {
    if (tasks.length === 0) return NO_RESULTS;
    const refs = tasks.map(({ taskNo }) => ({ jobNo: job, taskNo }));
    return this.#options.store.results(this.#shard, refs);
  }

  async #lastParts(job: JobRow, plan: QueryPlan): Promise<readonly FragmentResult[]> {
    const last = plan.stages.length - 1;
    const first = firstTasks(plan.stages)[last] ?? 0;
    const tasks = Array.from({ length: plan.stages[last]?.tasks ?? 0 }, (_, at) => ({
      taskNo: taskNo(first + at),
    }));
    const results = await this.#results(job.no, tasks);
    return tasks.flatMap(({ taskNo }) => {
      const result = results.get(refKey(job.no, taskNo));
      return result === undefined ? [] : [JSON.parse(result) as FragmentResult];
    });
  }

  /** Null when the job is not a query. */
  async #keep(job: JobRow): Promise<Kept | null> {
    const known = this.#kept.get(job.id);
    if (known?.no === job.no) return known;
    this.#kept.delete(job.id);
    const kept = isQuery(job) ? await this.#fresh(job) : null;
    if (kept === null) return null;
    this.#kept.set(job.id, kept);
    return kept;
  }

  async #fresh({ id, no }: JobRow): Promise<Kept | null> {
    const measured = this.#submittedPlan(id) ?? (await this.#storedPlan(id));
    // From now on its number is known.
    this.#submitted.delete(id);
    return measured === null
      ? null
      : { no, ...measured, figures: new Map(), decisions: new Map(), final: null };
  }

  #submittedPlan(id: JobId): MeasuredPlan | null {
    const submitted = this.#submitted.get(id);
    if (submitted === undefined) return null;
    if (this.#options.clock.monotonicMs() - submitted.atMs >= FINAL_MS) return null;
    const plan = (submitted.plan ??= readStoredPlan(submitted.text));
    return { plan, chars: submitted.text.length };
  }

  async #storedPlan(id: JobId): Promise<MeasuredPlan | null> {
    const found = await this.#options.store.task(this.#shard, id, PLAN_TASK as TaskId);
    if (found?.spec.executor !== PLAN_EXECUTOR || found.result === null) return null;
    return { plan: readStoredPlan(found.result), chars: found.result.length };
  }
}

const NO_RESULTS: ReadonlyMap<string, string> = new Map();

/** Null if one of them is not cached. */
function keptParts({ plan, figures }: Kept): readonly FragmentResult[] | null {
  const first = firstTasks(plan.stages).at(-1) ?? 0;
  const count = plan.stages.at(-1)?.tasks ?? 0;
  const parts = Array.from({ length: count }, (_, at) => figures.get(first + at)?.result ?? null);
  const known = parts.filter((part) => part !== null);
  return known.length === count ? known : null;
}
