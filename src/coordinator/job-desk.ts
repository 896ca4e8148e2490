/**
 * What clients ask of a leader about jobs. The memory answers for live jobs, the store for all
 * others; every call may be repeated without harm.
 */
import {
  MillraceError,
  documentFromRows,
  explain,
  isFinished,
  isMillraceError,
  parseJobDocument,
} from '../core/index.ts';
import type {
  Ask,
  Explanation,
  JobDocument,
  JobId,
  JobRow,
  ReplyBody,
  Seed,
  Settings,
  Submit,
  TaskId,
  TaskNo,
} from '../core/index.ts';
import { KeyedLock } from '../kit/index.ts';
import type { InboxRow, JobView, Store } from '../store/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import { keyScopes, knownKeys } from './known-keys.ts';
import type { KnownKeys } from './known-keys.ts';
import type { Payloads } from './payloads.ts';
import { cleanText } from './text.ts';

export type JobReply = Extract<ReplyBody, { type: 'job' }>;

export interface DeskOptions {
  readonly store: Store;
  readonly shard: number;
  readonly settings: Settings;
  readonly dispatcher: Dispatcher;
  readonly payloads: Payloads;
}

export interface SubmitOptions {
  readonly jobId: JobId;
  /** The caller repeats an earlier call whose answer it did not get. */
  readonly isRepeated?: boolean;
  readonly seeds?: ReadonlyMap<TaskNo, Seed>;
  readonly inboxNo?: number;
}

/** Inbox rows taken in at once. */
const INBOX_PORTION = 100;

export class JobDesk {
  readonly #options: DeskOptions;
  /** Submissions that name the same key wait for each other: the store is asked only once. */
  readonly #keys: KeyedLock = new KeyedLock();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  /** Takes an unchecked document. */
  submit(document: unknown, options: SubmitOptions): Promise<JobReply> {
    return this.submitParsed(parseJobDocument(document, this.#options.settings), options);
  }

  async submitParsed(document: JobDocument, options: SubmitOptions): Promise<JobReply> {
    const scopes = keyScopes(document.tasks);
    const key = document.idempotencyKey;
    const names = [...scopes, ...(key === null ? [] : [`job/${key}`])];
    return this.#keys.run(names, async () => {
      const existing = await this.#findExisting(document, options);
      if (existing !== null) return existing;
      const { jobId, seeds, inboxNo } = options;
      const event = (keys: KnownKeys, ask: Ask): Submit => ({
        type: 'submit',
        ask,
        jobId,
        document,
        ...keys,
        ...(seeds === undefined ? {} : { seeds }),
        ...(inboxNo === undefined ? {} : { inboxNo }),
      });
      const { dispatcher } = this.#options;
      const reply =
        scopes.length === 0
          ? await dispatcher.ask((ask) => event({}, ask))
          : await dispatcher.askAfter(() => knownKeys(this.#options, scopes), event);
      return asJob(reply);
    });
  }

  /** A job that this very call, or one with the same key, has made before. */
  async #findExisting(document: JobDocument, options: SubmitOptions): Promise<JobReply | null> {
    const { store } = this.#options;
    const key = document.idempotencyKey;
    const byKey = key === null ? null : await store.jobIdForKey(this.#shard, key);
    if (byKey !== null) return this.#unchanged(byKey);
    return options.isRepeated === true ? this.#unchanged(options.jobId) : null;
  }

  /** The job as it is, if there is one. */
  async #unchanged(jobId: JobId): Promise<JobReply | null> {
    const { dispatcher, store } = this.#options;
    const live = await dispatcher.read((state) => {
      const job = state.jobsById.get(jobId);
      return job === undefined ? null : { state: job.state, run: job.run };
    });
    if (live !== null) return { type: 'job', jobId, ...live, changed: false };
    const row = await store.jobRow(this.#shard, jobId);
    return row === null ? null : unchangedRow(row);
  }

  async cancel(jobId: JobId, reason: string): Promise<JobReply> {
    if (!(await this.#bringIn(jobId, (row) => !isFinished(row.state)))) {
      const over = await this.#unchanged(jobId);
      if (over === null) throw unknownJob(jobId);
      return over;
    }
    const { dispatcher } = this.#options;
    return asJob(
      await dispatcher.ask((ask) => ({ type: 'cancel', ask, jobId, reason: cleanText(reason) })),
    );
  }

  /** From the tasks that did not succeed. With `expectedRun`, only once. */
  async rerun(jobId: JobId, expectedRun?: number): Promise<JobReply> {
    if (!(await this.#bringIn(jobId, () => true))) throw unknownJob(jobId);
    const expected = expectedRun === undefined ? {} : { expectedRun };
    const { dispatcher } = this.#options;
    return asJob(await dispatcher.ask((ask) => ({ type: 'rerun', ask, jobId, ...expected })));
  }

  /** One dead task again, and what was skipped because of it. */
  async redrive(jobId: JobId, taskId: TaskId): Promise<JobReply> {
    if (!(await this.#bringIn(jobId, () => true))) throw unknownJob(jobId);
    const { dispatcher } = this.#options;
    return asJob(await dispatcher.ask((ask) => ({ type: 'rerun', ask, jobId, taskId })));
  }

  /** A new job from the same document: what is not below `from` and succeeded is taken over. */
  async fork(jobId: JobId, from: TaskId, forkId: JobId): Promise<JobReply> {
    const { store, settings } = this.#options;
    const view = await store.job(this.#shard, jobId);
    if (view === null) throw unknownJob(jobId);
    const specs = view.tasks.map(({ spec }) => spec);
    const document = documentFromRows(view.job, specs, settings);
    const seeds = seedsOutside(view, document, from);
    // Always as if repeated: the caller chose the id, and one look costs less than a refused batch.
    return this.submitParsed(document, { jobId: forkId, isRepeated: true, seeds });
  }

  /** Null when the task is not live. */
  explain(jobId: JobId, taskId: TaskId): Promise<Explanation | null> {
    return this.#options.dispatcher.read((state, now) => explain(state, jobId, taskId, now));
  }

  /** Jobs that were put into the user's own transactions. Answers how many were taken in. */
  async drainInbox(): Promise<number> {
    let taken = 0;
    for (;;) {
      const rows = await this.#options.store.inbox(this.#shard, INBOX_PORTION);
      await Promise.all(rows.map((row) => this.#takeIn(row)));
      taken += rows.length;
      if (rows.length < INBOX_PORTION) return taken;
    }
  }

  async #takeIn({ no, jobId, document }: InboxRow): Promise<void> {
    const { dispatcher, settings } = this.#options;
    try {
      const parsed = parseJobDocument(JSON.parse(document), settings);
      await this.submitParsed(parsed, { jobId, inboxNo: no });
    } catch (error) {
      if (!isMillraceError(error, 'bad_input') && !isMillraceError(error, 'too_large')) throw error;
      // The user's transaction is long over: a failed job is the only way to tell him.
      const { code, message } = error;
      const reason = { code, message: cleanText(message) };
      await dispatcher.ask((ask) => ({
        type: 'reject',
        ask,
        jobId,
        name: 'inbox',
        error: reason,
        inboxNo: no,
      }));
    }
  }

  /** Makes sure the job is in memory if it exists and is wanted. */
  async #bringIn(jobId: JobId, wanted: (row: JobRow) => boolean): Promise<boolean> {
    const { dispatcher, store } = this.#options;
    if (await dispatcher.read((state) => state.jobsById.has(jobId))) return true;
    const row = await store.jobRow(this.#shard, jobId);
    if (row === null || !wanted(row)) return false;
    const images = await dispatcher.load(async () => {
      const image = await store.loadJob(this.#shard, jobId);
      return image === null ? [] : [image];
    });
    return images.length > 0;
  }

  get #shard(): number {
    return this.#options.shard;
  }
}

/** Everything that succeeded and does not lie at or below `from`. */
function seedsOutside(view: JobView, document: JobDocument, from: TaskId): Map<TaskNo, Seed> {
  const start = document.tasks.findIndex((task) => task.id === from);
  if (start < 0) throw unknownJob(`${view.job.id}/${from}`);
  const dependents: number[][] = document.tasks.map(() => []);
  for (const [no, task] of document.tasks.entries()) {
    for (const dependency of task.dependsOn) dependents[dependency.no]?.push(no);
  }
  const below = new Set([start]);
  for (const no of below) for (const dependent of dependents[no] ?? []) below.add(dependent);
  const seeds = new Map<TaskNo, Seed>();
  for (const { spec, task, result } of view.tasks) {
    if (below.has(spec.taskNo) || task.state !== 'succeeded') continue;
    seeds.set(spec.taskNo, { state: 'succeeded', result });
  }
  return seeds;
}

function unchangedRow({ id: jobId, state, run }: JobRow): JobReply {
  return { type: 'job', jobId, state, run, changed: false };
}

function asJob(reply: ReplyBody): JobReply {
  if (reply.type === 'job') return reply;
  throw new MillraceError({ code: 'invariant', what: `a job was asked, ${reply.type} answered` });
}

function unknownJob(id: string): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no job ${id}.` });
}
