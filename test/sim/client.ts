/**
 * A client: submits, cancels, runs again, forks, schedules and asks why, over and over until each
 * call is answered, and remembers what it was promised.
 */
import { awaitedEvent, isMillraceError } from '../../src/scheduler/core/index.ts';
import type { JobId, NodeId, ScheduleId, TaskId } from '../../src/scheduler/core/index.ts';
import type { JobReply } from '../../src/scheduler/contract/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { isPassing } from './cluster.ts';
import type { Cluster, Connection } from './cluster.ts';
import { draftBatched, draftJob, singletonOf } from './documents.ts';
import type { Draft, Vocabulary } from './documents.ts';
import { EventSender, cancelOn } from './events.ts';
import type { Findings } from './findings.ts';
import type { Journal } from './journal.ts';
import { Process } from './process.ts';
import { draftQuery } from './queries.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';
import { actOnSchedules } from './schedule-actions.ts';
import { SIGNALS } from './waiting.ts';
import type { SentSignal, Witness } from './witness.ts';
import type { World } from './world.ts';

export interface ClientOptions {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  readonly cluster: Cluster;
  readonly witness: Witness;
  readonly journal: Journal;
  readonly findings: Findings;
  readonly words: Vocabulary;
  readonly calls: number;
  readonly pauseMs: number;
  readonly schedules: boolean;
  readonly operatesNodes: boolean;
}

/** Answers that are no failure: the call came too late, too early or for nothing. */
const FAIR = ['conflict', 'not_found', 'bad_query'] as const;
const QUEUES: readonly Readonly<Record<string, string>>[] = [
  { executor: 'echo' },
  { executor: 'sum' },
  { executor: 'sql.fragment' },
  { key: 'lake' },
  { key: 'pool' },
  { key: 'calls' },
];
const FOR_EVER = new AbortController().signal;

export class Client {
  readonly process: Process;
  readonly #options: ClientOptions;
  readonly #random: Random;
  readonly #queryDice: Random;
  readonly #batchDice: Random;
  readonly #pauseDice: Random;
  readonly #declareDice: Random;
  readonly #eventDice: Random;
  readonly #events: EventSender;
  #connection: Connection | null = null;
  #life: Life | null = null;
  #isBusy = true;
  /** No rewind came between the last call and its answer: what it says is still true. */
  #isSure = true;
  #isStopped = false;

  constructor(options: ClientOptions) {
    const { name, world, random } = options;
    this.#options = options;
    this.#random = random;
    this.#queryDice = random.fork('queries');
    this.#batchDice = random.fork('batches');
    this.#pauseDice = random.fork('pauses');
    this.#declareDice = random.fork('declared schedules');
    this.#eventDice = random.fork('events');
    this.#events = new EventSender(this.#eventDice, options, async (act) => {
      const reply = await this.#retried('send', act);
      return this.#isSure ? reply : null;
    });
    this.process = new Process(name, world, random, (life) => {
      this.#life = life;
      this.#connection = options.cluster.connect(life);
      this.#work().catch((error: unknown) => {
        options.findings.add('refusals', `${name} breaks: ${String(error)}`);
      });
    });
  }

  /** Every call it made was answered, and it makes no more. */
  get isIdle(): boolean {
    return !this.#isBusy;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #work(): Promise<void> {
    for (let call = 0; call < this.#options.calls && !this.#isStopped; call += 1) {
      await this.#wait(this.#random.between(0, this.#options.pauseMs * 2));
      if (!this.#isStopped) await this.#act();
    }
    this.#isBusy = false;
  }

  async #act(): Promise<void> {
    const { schedules, operatesNodes } = this.#options;
    const dice = this.#random.fraction();
    if (dice < 0.5 || this.#options.witness.jobs.size === 0) return this.#submit();
    if (dice < 0.6) return this.#signal();
    if (dice < 0.67) return this.#cancel(this.#someJob());
    if (dice < 0.75) return this.#rerun(this.#someJob());
    if (dice < 0.8) return this.#redrive(this.#someJob());
    if (dice < 0.85) return this.#fork(this.#someJob());
    if (dice < 0.9) return this.#explain(this.#someJob());
    if (dice < 0.97 && schedules) return this.#schedule();
    if (operatesNodes) return this.#operateNode();
    return this.#submit();
  }

  async #submit(): Promise<void> {
    const { words, witness } = this.#options;
    if (this.#queryDice.chance(words.queryRate)) return this.#query();
    if (this.#batchDice.chance(words.batchRate)) return this.#batched();
    const draft: Draft = {
      ...draftJob(this.#random, words),
      ...(this.#random.chance(0.1)
        ? {
            debounce: undefined,
            runAt: this.#options.world.databaseNow() + this.#random.whole(0, 20_000),
          }
        : {}),
    };
    const singleton = draft['debounce'] === undefined && this.#pauseDice.chance(0.1);
    const jobId = this.#random.id('j') as JobId;
    const isKeyed = this.#random.chance(0.2);
    const key = isKeyed ? `once${this.#random.whole(1, 6)}` : null;
    const document = {
      ...draft,
      ...(key === null ? {} : { idempotencyKey: key }),
      ...(singleton ? { singleton: singletonOf(this.#pauseDice) } : {}),
      ...(this.#eventDice.chance(0.1) ? cancelOn(this.#eventDice) : {}),
    };
    witness.jobs.set(jobId, { jobId, document: draft, isAcknowledged: false });
    const reply = await this.#insist('submit', (leader) => {
      return leader.jobs.submit(document, { jobId });
    });
    if (reply === null) return;
    // The live job of a singleton is answered without keeping the key of who has asked.
    const isOfKey = reply.changed || !singleton;
    if (key !== null && isOfKey && this.#isSure) witness.answeredKey(key, reply.jobId);
    this.#acknowledged(jobId, reply, draft);
  }

  async #batched(): Promise<void> {
    const draft = draftBatched(this.#batchDice);
    const jobId = this.#batchDice.id('b') as JobId;
    this.#options.witness.jobs.set(jobId, { jobId, document: draft, isAcknowledged: false });
    const reply = await this.#insist('submit', (leader) => leader.jobs.submit(draft, { jobId }));
    if (reply !== null) this.#acknowledged(jobId, reply, draft);
  }

  async #query(): Promise<void> {
    const { witness, world, name } = this.#options;
    const number = this.#queryDice.whole(0, 1_000_000);
    const draft = draftQuery(number);
    const jobId = this.#queryDice.id('q') as JobId;
    const key = this.#queryDice.chance(0.1) ? `query${this.#queryDice.whole(1, 6)}` : null;
    const request = key === null ? { number } : { number, idempotencyKey: key };
    witness.jobs.set(jobId, { jobId, document: draft, isAcknowledged: false });
    const reply = await this.#insist('query', (leader) => {
      return leader.jobs.submitQuery(request, { jobId }, FOR_EVER);
    });
    if (reply === null) {
      witness.jobs.delete(jobId);
      return world.say(name, `query ${number} cannot be planned`);
    }
    if (key !== null && this.#isSure) witness.answeredKey(key, reply.jobId);
    this.#acknowledged(jobId, reply, draft);
  }

  #acknowledged(jobId: JobId, reply: JobReply, draft: Draft): void {
    const { witness, findings } = this.#options;
    if (reply.jobId !== jobId) witness.jobs.delete(jobId);
    const known = witness.jobs.get(reply.jobId);
    if (known !== undefined && this.#isSure) known.isAcknowledged = true;
    if (reply.jobId === jobId && known?.document !== draft) {
      findings.add('replies', `job ${jobId} was acknowledged to somebody else`);
    }
  }

  async #cancel(jobId: JobId): Promise<void> {
    const reply = await this.#insist('cancel', (leader) => leader.jobs.cancel(jobId, 'not needed'));
    const { witness, journal } = this.#options;
    if (reply?.changed === true && this.#isSure) {
      witness.cancelled.set(jobId, journal.commits.length);
    }
  }

  async #rerun(jobId: JobId): Promise<void> {
    const run = this.#random.whole(1, 2);
    await this.#insist('rerun', (leader) => leader.jobs.rerun(jobId, run));
  }

  async #redrive(jobId: JobId): Promise<void> {
    const taskId = this.#someTask(jobId);
    await this.#insist('redrive', (leader) => leader.jobs.redrive(jobId, taskId));
  }

  async #fork(jobId: JobId): Promise<void> {
    const forkId = this.#random.id('f') as JobId;
    const from = this.#someTask(jobId);
    await this.#insist('fork', (leader) => leader.jobs.fork(jobId, from, forkId));
  }

  /** Somebody who waits for it, or somebody who does not; now and then one that was sent before. */
  async #signal(): Promise<void> {
    const { witness, journal } = this.#options;
    if (this.#eventDice.chance(0.5)) return this.#events.some();
    const sent = [...witness.signals.values()];
    if (sent.length > 0 && this.#random.chance(0.2)) return this.#send(this.#random.pick(sent));
    const listening = journal.listening().filter(({ name }) => awaitedEvent(name) === null);
    const isHeard = listening.length > 0 && this.#random.chance(0.7);
    const to = isHeard
      ? this.#random.pick(listening)
      : { jobId: this.#someJob(), name: this.#random.pick(SIGNALS) };
    await this.#sendNew(to);
  }

  async #sendNew({ jobId, name }: Pick<SentSignal, 'jobId' | 'name'>): Promise<void> {
    const id = this.#random.id('sig');
    const signal = { jobId, id, name, body: JSON.stringify({ from: id }), isAcknowledged: false };
    this.#options.witness.signals.set(`${jobId}/${id}`, signal);
    await this.#send(signal);
  }

  async #send(signal: SentSignal): Promise<void> {
    const { jobId, name, body, id } = signal;
    const reply = await this.#insist('signal', (leader) =>
      leader.jobs.signal(jobId as JobId, name, body, id),
    );
    if (reply !== null && this.#isSure) Object.assign(signal, { isAcknowledged: true });
  }

  /** Until the cluster has come to rest, whoever waits for a signal gets one. */
  async answerAll(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      for (const each of this.#options.journal.listening()) {
        const event = awaitedEvent(each.name);
        if (event === null) await this.#sendNew(each);
        else await this.#events.send(event, each.key as number);
      }
      await this.#wait(1_000);
    }
  }

  async #explain(jobId: JobId): Promise<void> {
    const taskId = this.#someTask(jobId);
    await this.#retried('explain', (leader) => leader.jobs.explain(jobId, taskId));
  }

  #schedule(): Promise<void> {
    const dice = { random: this.#random, declare: this.#declareDice };
    return actOnSchedules(dice, this.#options, (what, act) => this.#retried(what, act));
  }

  async #operateNode(): Promise<void> {
    if (this.#pauseDice.chance(0.4)) return this.#operateQueue();
    const node = this.#random.pick(this.#options.words.nodes) as NodeId;
    if (this.#random.chance(0.5))
      await this.#retried('drain', (leader) => leader.workers.drain(node));
    else await this.#retried('release', (leader) => leader.workers.release(node));
  }

  async #operateQueue(): Promise<void> {
    if (this.#pauseDice.chance(0.3)) {
      const jobs = [...this.#options.witness.jobs.keys()];
      if (jobs.length === 0) return;
      const job = this.#pauseDice.pick(jobs) as JobId;
      if (this.#pauseDice.chance(0.5)) return this.#reschedule(job);
      const priority = this.#pauseDice.whole(0, 3);
      await this.#insist('priority', (leader) => leader.jobs.setPriority(job, priority));
      return;
    }
    const queue = this.#pauseDice.pick(QUEUES);
    if (this.#pauseDice.chance(0.5))
      await this.#retried('pause', (leader) => leader.queues.pause(queue));
    else await this.#retried('resume', (leader) => leader.queues.resume(queue));
  }

  async #reschedule(job: JobId): Promise<void> {
    const { world } = this.#options;
    const isNow = this.#pauseDice.chance(0.4);
    const runAt = isNow ? 'now' : world.databaseNow() + this.#pauseDice.whole(-2_000, 20_000);
    await this.#insist('reschedule', (leader) => leader.jobs.reschedule(job, runAt));
  }

  /** Takes every schedule away and resumes every queue, so that the cluster can come to rest. */
  async endSchedules(): Promise<void> {
    for (const queue of QUEUES) {
      await this.#retried('resume', (leader) => leader.queues.resume(queue));
    }
    for (const id of this.#options.witness.schedules) {
      await this.#retried('delete', (leader) =>
        leader.schedules.change(id as ScheduleId, 'delete'),
      );
    }
  }

  async submitProbe(jobId: JobId, document: Draft): Promise<void> {
    await this.#insist('probe', (leader) => leader.jobs.submit(document, { jobId }));
  }

  async #insist(
    what: string,
    act: (leader: Leader) => Promise<JobReply>,
  ): Promise<JobReply | null> {
    const reply = await this.#retried(what, act);
    if (reply === null) return null;
    const { world, name, witness } = this.#options;
    world.say(name, `${what}: ${reply.jobId} is ${reply.state}, run ${reply.run}`);
    if (this.#isSure) witness.answered(reply);
    return reply;
  }

  /** Until it is answered; null when it was refused fairly. */
  async #retried<T>(what: string, act: (leader: Leader) => Promise<T>): Promise<T | null> {
    const { name, world, findings, journal } = this.#options;
    for (;;) {
      const { rewinds } = journal;
      try {
        const answer = await (this.#connection as Connection).ask(what, 2_000, (service) =>
          act(service.leader()),
        );
        this.#isSure = journal.rewinds === rewinds;
        return answer;
      } catch (error) {
        if (FAIR.some((code) => isMillraceError(error, code))) {
          world.say(name, `${what}: ${String(error)}`);
          return null;
        }
        if (!isPassing(error)) {
          findings.add('refusals', `${name}: ${what} was refused: ${String(error)}`);
          return null;
        }
        await this.#wait(this.#random.between(50, 1_000));
      }
    }
  }

  #someJob(): JobId {
    return this.#random.pick([...this.#options.witness.jobs.keys()]) as JobId;
  }

  #someTask(jobId: JobId): TaskId {
    const tasks = this.#options.witness.jobs.get(jobId)?.document.tasks ?? [];
    return (tasks.length === 0 ? 't0' : this.#random.pick(tasks).id) as TaskId;
  }

  #wait(ms: number): Promise<void> {
    const done = deferred();
    (this.#life as Life).clock.after(ms, done.resolve);
    return done.promise;
  }
}
