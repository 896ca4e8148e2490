/**
 * Serves clients' calls about jobs on the leader. The memory answers for live jobs, the store for all
 * others; every call may be repeated without harm.
 */
import {
  explain,
  forkDocument,
  heldTasks,
  isFinished,
  isMillraceError,
  isUnkept,
  jobDocumentReader,
  listParser,
  parseJobDocument,
  withInput,
} from '../core/index.ts';
import type {
  Ask,
  Explanation,
  HeldTask,
  JobDocument,
  JobId,
  JobImage,
  JobRow,
  MillraceError,
  Rerun,
  SchedulerEvent,
  Seed,
  Submit,
  TaskId,
  TaskNo,
} from '../core/index.ts';
import { KeyedLock, inTurns, isTracing } from '../../kit/index.ts';
import type {
  EditedInput,
  EventReply,
  JobReply,
  JobService,
  NewJob,
  SendOptions,
  SubmitOptions,
} from '../contract/index.ts';
import { givenResults } from './given-results.ts';
import { keyScopes, knownKeys } from './known-keys.ts';
import type { KnownKeys } from './known-keys.ts';
import {
  checkId,
  checkNewJobId,
  checkPriority,
  checkRunAt,
  idempotencyKeyIn,
  wrappedSignal,
} from './checks.ts';
import { asFault, hasEnded, noSecret, notKept, unknownJob, unknownTask } from './faults.ts';
import { takeInInbox } from './inbox-rows.ts';
import { asJob, asRescheduled, unchangedRow } from './job-replies.ts';
import { noQueries } from './query-planner.ts';
import { sendEvent } from './send-event.ts';
import type { ServiceOptions } from './service-options.ts';
import { removeJob } from './remove-job.ts';
import { submitListed, submitList } from './submit-list.ts';
import type { FreshJob } from './submit-list.ts';
import { cleanText } from './text.ts';
import { traceSubmit } from './tracing.ts';

/** What the leader itself may say of a job that it submits. */
interface InnerOptions extends SubmitOptions {
  readonly seeds?: ReadonlyMap<TaskNo, Seed>;
  readonly inboxNo?: number;
}

/** With what was given with the job, if that was read. */
type MakeEvent = (ask: Ask, given: Pick<Rerun, 'seeds'>) => SchedulerEvent;

type BroughtBack = { readonly image: JobImage | null; readonly given: Pick<Rerun, 'seeds'> };

export class LeaderJobService implements JobService {
  readonly #options: ServiceOptions;
  /** Submissions that name the same key or id wait for each other: the store is asked only once. No id looks like a key,
   * which has a slash in it. */
  readonly #keys: KeyedLock = new KeyedLock();
  #draining: Promise<number> | null = null;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  async submit(document: unknown, options: SubmitOptions): Promise<JobReply> {
    checkNewJobId(options.jobId);
    const given = this.#options.flows.document(document);
    const read = await inTurns(jobDocumentReader(given, this.#options.settings));
    return this.submitParsed(read, options);
  }

  submitAll(jobs: readonly NewJob[]): Promise<readonly (JobReply | MillraceError)[]> {
    const { settings, flows } = this.#options;
    const parse = listParser(settings);
    return submitList(jobs, {
      parse: ({ document, jobId }) => {
        checkNewJobId(jobId);
        const parsed = parse(flows.document(document));
        this.#checkSecret(parsed);
        return parsed;
      },
      submit: (document, options) => this.submitParsed(document, options),
      submitNew: (fresh) => this.#submitNew(fresh),
      takenIds: (ids) => this.#options.storedIds.taken(ids),
      alone: (ids, act) => this.#keys.run(ids, act),
    });
  }

  /** Together, with one promise for all of them. */
  async #submitNew(jobs: readonly FreshJob[]): Promise<readonly (JobReply | MillraceError)[]> {
    // Each has a span of its own.
    if (isTracing()) {
      const alone = ({ document, options }: FreshJob): Promise<JobReply | MillraceError> =>
        this.submitParsed(document, { ...options, isFresh: true }).catch(asFault);
      return Promise.all(jobs.map(alone));
    }
    return submitListed(jobs, this.#options.dispatcher);
  }

  send(event: unknown, body: unknown, options: SendOptions): Promise<EventReply> {
    return sendEvent(event, body, options, this.#options, (jobs) => this.submitAll(jobs));
  }

  #checkSecret({ options: { webhooks } }: JobDocument): void {
    if (webhooks.length > 0 && !this.#options.signsWebhooks) throw noSecret();
  }

  submitParsed(document: JobDocument, options: InnerOptions): Promise<JobReply> {
    this.#checkSecret(document);
    return traceSubmit(document, options, (placed) => this.#submitOnce(placed, options));
  }

  #submitOnce(document: JobDocument, options: InnerOptions): Promise<JobReply> {
    const scopes = keyScopes(document.tasks);
    const key = document.idempotencyKey;
    const isNewId = options.isFresh === true;
    // Nothing has to be looked up for a job that names no key and whose id was made here.
    if (scopes.length === 0 && key === null && isNewId) return this.#submit(document, options, []);
    const names = [
      ...scopes,
      ...(key === null ? [] : [`job/${key}`]),
      ...(isNewId ? [] : [options.jobId]),
    ];
    return this.#keys.run(names, async () => {
      const existing = await this.#findExisting(key, isNewId ? null : options.jobId);
      return existing ?? this.#submit(document, options, scopes);
    });
  }

  async submitQuery(
    request: unknown,
    options: SubmitOptions,
    signal: AbortSignal,
  ): Promise<JobReply> {
    const { planner } = this.#options;
    checkNewJobId(options.jobId);
    if (planner === null) throw noQueries();
    const key = idempotencyKeyIn(request);
    // To plan is dear: not for one that is there already.
    const existing = await this.#findExisting(key, options.isFresh === true ? null : options.jobId);
    if (existing !== null) return existing;
    const { document, seeds } = await planner.plan(request, signal, options.caller);
    const idempotencyKey = document.idempotencyKey ?? key;
    const reply = await this.submitParsed({ ...document, idempotencyKey }, { ...options, seeds });
    if (reply.changed) planner.submitted?.(reply.jobId, seeds);
    return reply;
  }

  #submit(
    document: JobDocument,
    { jobId, seeds, inboxNo, startedBy }: InnerOptions,
    scopes: readonly string[],
  ): Promise<JobReply> {
    const event = (keys: KnownKeys, ask: Ask): Submit => ({
      type: 'submit',
      ask,
      jobId,
      document,
      ...keys,
      ...(seeds === undefined ? {} : { seeds }),
      ...(inboxNo === undefined ? {} : { inboxNo }),
      ...(startedBy === undefined ? {} : { startedBy }),
    });
    const { dispatcher } = this.#options;
    const reply =
      scopes.length === 0
        ? dispatcher.ask((ask) => event({}, ask))
        : dispatcher.askAfter(() => knownKeys(this.#options, scopes), event);
    return reply.then(asJob);
  }

  /** A job that this very call, or one with the same key, has made before. */
  async #findExisting(key: string | null, jobId: JobId | null): Promise<JobReply | null> {
    const { store } = this.#options;
    const byKey = key === null ? null : await store.jobIdForKey(this.#shard, key);
    if (byKey !== null) return this.#unchanged(byKey);
    return jobId === null ? null : this.#unchanged(jobId);
  }

  /** The job as it is, if there is one. */
  async #unchanged(jobId: JobId): Promise<JobReply | null> {
    const { dispatcher, storedIds } = this.#options;
    // Most ids are new: only for one that is there does the caller wait for what is being committed.
    if (dispatcher.peek((state) => state.jobsById.has(jobId))) {
      const live = await dispatcher.read((state) => {
        const job = state.jobsById.get(jobId);
        return job === undefined ? null : { state: job.state, run: job.run };
      }, true);
      if (live !== null) return { jobId, ...live, changed: false };
    }
    const row = await storedIds.row(jobId);
    return row === null ? null : unchangedRow(row);
  }

  async cancel(jobId: JobId, reason: string): Promise<JobReply> {
    const event = (ask: Ask): SchedulerEvent => ({
      type: 'cancel',
      ask,
      jobId,
      reason: cleanText(reason),
    });
    return this.#askAbout(jobId, (row) => !isFinished(row.state), event);
  }

  async setPriority(jobId: JobId, given: unknown): Promise<JobReply> {
    const priority = checkPriority(given);
    const event = (ask: Ask): SchedulerEvent => ({ type: 'setPriority', ask, jobId, priority });
    return this.#askAbout(jobId, (row) => !isFinished(row.state), event);
  }

  async reschedule(jobId: JobId, given: unknown): Promise<JobReply> {
    const runAt = checkRunAt(given);
    const event = (ask: Ask): SchedulerEvent => ({ type: 'reschedule', ask, jobId, runAt });
    return asRescheduled(await this.#askAbout(jobId, (row) => !isFinished(row.state), event));
  }

  /** Nobody submits a job of this id meanwhile, or brings it back into memory. */
  async remove(jobId: JobId): Promise<void> {
    checkId(jobId, 'job');
    return this.#keys.run([jobId], () => removeJob(this.#options, jobId));
  }

  async rerun(jobId: JobId, expectedRun?: number): Promise<JobReply> {
    const expected = expectedRun === undefined ? {} : { expectedRun };
    return this.#askAbout(
      jobId,
      () => true,
      (ask, seeds) => ({ type: 'rerun', ask, jobId, ...expected, ...seeds }),
    );
  }

  async redrive(jobId: JobId, taskId: TaskId): Promise<JobReply> {
    return this.#askAbout(
      jobId,
      () => true,
      (ask, seeds) => ({ type: 'rerun', ask, jobId, taskId, ...seeds }),
    );
  }

  /** A repeated id changes nothing, also when the job has ended since: the caller may not have got the answer. */
  async signal(jobId: JobId, name: string, body: string, signalId: string): Promise<JobReply> {
    const { dispatcher, store } = this.#options;
    checkId(jobId, 'job');
    const wrapped = wrappedSignal(name, body, signalId, this.#options.settings);
    const event = (ask: Ask): SchedulerEvent => {
      return { type: 'signal', ask, jobId, id: signalId, name, body: wrapped };
    };
    if (await dispatcher.read((state) => state.jobsById.has(jobId))) {
      try {
        return asJob(await dispatcher.ask(event));
      } catch (error) {
        // It may have ended, and left the memory, between the two: then the store knows.
        if (!isMillraceError(error, 'not_found')) throw error;
      }
    }
    const row = await store.jobRow(this.#shard, jobId);
    if (row === null) throw unknownJob(jobId);
    if (!isFinished(row.state)) return this.#askWithImage(jobId, event);
    const image = await store.loadJob(this.#shard, jobId);
    if (image?.signals.some(({ id }) => id === signalId) === true) return unchangedRow(row);
    throw hasEnded(row);
  }

  async fork(jobId: JobId, from: TaskId, forkId: JobId, edited?: EditedInput): Promise<JobReply> {
    const { store, settings } = this.#options;
    checkId(jobId, 'job');
    checkNewJobId(forkId);
    const view = await store.job(this.#shard, jobId);
    if (view === null) throw unknownJob(jobId);
    if (isUnkept(view.job)) throw notKept(view.job);
    const specs = view.tasks.map(({ spec }) => spec);
    const hasSucceeded = (no: TaskNo): boolean => view.tasks[no]?.task.state === 'succeeded';
    const fork = forkDocument(view.job, specs, settings, from, hasSucceeded);
    if (fork === null) throw unknownTask(jobId, from);
    const { taken } = fork;
    const document =
      edited === undefined
        ? fork.document
        : withInput(fork.document, from, edited.input, settings, '/input');
    const seeds = new Map<TaskNo, Seed>();
    for (const { no, of } of taken) {
      // What was given with the job is there whatever became of its task.
      const isGiven = document.tasks[no]?.options.admission !== undefined;
      if (!isGiven && !hasSucceeded(of)) continue;
      seeds.set(no, { state: 'succeeded', result: view.tasks[of]?.result ?? null });
    }
    return this.submitParsed(document, { jobId: forkId, seeds });
  }

  explain(jobId: JobId, taskId: TaskId): Promise<Explanation | null> {
    return this.#options.dispatcher.read((state, now) => explain(state, jobId, taskId, now));
  }

  held(perNode: number): Promise<readonly HeldTask[]> {
    return this.#options.dispatcher.read((state) => heldTasks(state, perNode));
  }

  /** Explanations for several tasks in one read; tasks that are not live have none. */
  explainAll(jobId: JobId, taskIds: readonly TaskId[]): Promise<ReadonlyMap<TaskId, string>> {
    return this.#options.dispatcher.read((state, now) => {
      const sentences = new Map<TaskId, string>();
      for (const taskId of taskIds) {
        const found = explain(state, jobId, taskId, now);
        if (found !== null) sentences.set(taskId, found.why);
      }
      return sentences;
    });
  }

  /** Jobs that were put into the user's own transactions. Returns how many rows were taken out. */
  drainInbox(): Promise<number> {
    // One at a time: two that read the same row would both make a job of it.
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  #drain(): Promise<number> {
    const { store, dispatcher, settings, flows } = this.#options;
    return takeInInbox({
      store,
      shard: this.#shard,
      dispatcher,
      submit: (document, options) =>
        this.submitParsed(parseJobDocument(flows.document(document), settings), options),
      ifNew: (jobId, act) =>
        this.#keys.run([jobId], async () => {
          if ((await this.#unchanged(jobId)) === null) await act();
        }),
    });
  }

  /** Asks the memory, or brings the job in with the question if the store has it as `wanted`. */
  async #askAbout(
    jobId: JobId,
    wanted: (row: JobRow) => boolean,
    make: MakeEvent,
  ): Promise<JobReply> {
    const { dispatcher, store } = this.#options;
    checkId(jobId, 'job');
    if (await dispatcher.read((state) => state.jobsById.has(jobId))) {
      try {
        return asJob(await dispatcher.ask((ask) => make(ask, {})));
      } catch (error) {
        // It may have ended, and left the memory, between the two: then the store knows.
        if (!isMillraceError(error, 'not_found')) throw error;
      }
    }
    const row = await store.jobRow(this.#shard, jobId);
    if (row === null) throw unknownJob(jobId);
    if (!wanted(row)) return unchangedRow(row);
    if (isUnkept(row)) throw notKept(row);
    return this.#askWithImage(jobId, make);
  }

  async #askWithImage(jobId: JobId, make: MakeEvent): Promise<JobReply> {
    const { dispatcher, store } = this.#options;
    const read = async (): Promise<BroughtBack> => {
      const image = await store.loadJob(this.#shard, jobId);
      return { image, given: image === null ? {} : await givenResults(this.#options, image) };
    };
    const found = ({ image }: BroughtBack): JobImage[] => (image === null ? [] : [image]);
    // It is not removed while it is read.
    return this.#keys.run([jobId], async () =>
      asJob(await dispatcher.askAfter(read, ({ given }, ask) => make(ask, given), found)),
    );
  }

  get #shard(): number {
    return this.#options.shard;
  }
}
