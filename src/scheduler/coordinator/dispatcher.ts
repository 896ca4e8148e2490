/**
 * Group commit. Events are fed to the core as they come; their effects gather in the open batch. When no commit is in flight
 * the batch is closed and written at once, otherwise when one returns, or when it has become large and the store takes more
 * than one at a time: an idle leader answers after one commit, a busy one pays one commit for hundreds of events and does not
 * wait for it. No answer leaves before the batch it was computed from is committed, and all those before it.
 *
 * On any doubt the memory is dropped. A batch that the store refuses because of its data is fed
 * again one event at a time, so that only the offender is refused; everything else ends the term.
 */
import type {
  Ask,
  Instant,
  JobImage,
  ListedJob,
  MillraceError,
  ReplyBody,
  SchedulerEvent,
  SchedulerState,
} from '../core/index.ts';
import { unstorableIn } from '../core/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Deferred } from '../../kit/index.ts';
import { PendingReplies } from './pending-replies.ts';
import { apart } from './listed-jobs.ts';
import { Backlog, defaultBacklogLimits } from './backlog.ts';
import { type AskOptions, CommitBatch, type Input } from './commit-batch.ts';
import { CommitPipeline } from './commit-pipeline.ts';
import { asksIn, readInput, restoreInput } from './inputs.ts';
import { feed, finish } from './feeding.ts';
import { asFault, notStorable, refusal, reloading, steppedDown } from './faults.ts';
import { WakeTimer } from './wake-timer.ts';
import { weightOf } from './weight.ts';
import { type Afterwards, writeBatch } from './write-batch.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';

type Phase = 'serving' | 'isolating' | 'ended';

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #replies: PendingReplies = new PendingReplies();
  readonly #timer: WakeTimer;
  #state: SchedulerState;
  /** Counts the memories: rows loaded for an earlier one are not restored. */
  #generation = 1;
  #readers = 0;
  #reloads = 0;
  #phase: Phase = 'serving';
  #endedBy: MillraceError | null = null;
  readonly #backlog: Backlog;
  #open: CommitBatch;
  readonly #pipeline: CommitPipeline;
  /** What the core threw while it was fed the open batch: its state is half-changed. */
  #poison: MillraceError | null = null;
  #isPumpScheduled = false;
  #settled: Deferred<void> | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { backlogMax: eventsMax = defaultBacklogLimits.eventsMax } = options;
    this.#backlog = new Backlog({ ...defaultBacklogLimits, eventsMax });
    this.#state = options.memory.state;
    this.#open = new CommitBatch(options.memory.effects);
    const { clock, leaderTerm } = options;
    this.#timer = new WakeTimer(clock, leaderTerm.time, () => this.#schedulePump());
    this.#pipeline = new CommitPipeline({
      ...options,
      atOnce: options.store.commitsAtOnce ?? 1,
      write: (batch) => this.#write(batch),
      onWritten: (batch) => this.#written(batch),
      onFailed: (batches, fault) => this.#refused(batches, fault),
    });
    this.#schedulePump();
  }

  /** Events in the backlog and in the open batch. Reads do not count: they cost the store nothing. */
  get backlog(): number {
    return this.#backlog.events + this.#open.events;
  }

  /** How often the memory was dropped and reloaded in this term. */
  get reloads(): number {
    return this.#reloads;
  }

  /** How full the backlog is: 1 is when callers are refused. */
  get pressure(): number {
    return this.#backlog.pressure(this.#open);
  }

  /** How many more events it takes before callers are refused. */
  get room(): number {
    return this.#backlog.room(this.#open);
  }

  /** Feeds an event; settles when its reply is committed. With `generation`, only to that memory. */
  ask(make: (ask: Ask) => SchedulerEvent, options: AskOptions = {}): Promise<ReplyBody> {
    if (this.#endedBy !== null) return Promise.reject(this.#endedBy);
    const ask = this.#replies.next();
    const event = make(ask);
    const unstorable = unstorableIn(event);
    if (unstorable !== null) return Promise.reject(notStorable(unstorable));
    return this.#take(event, ask, options);
  }

  /** Feeds jobs that were checked with `unstorableJob` as one event: see `portionsOf`. */
  submitAll(jobs: readonly ListedJob[]): Promise<ReplyBody> {
    if (this.#endedBy !== null) return Promise.reject(this.#endedBy);
    const ask = this.#replies.next();
    return this.#take({ type: 'submitAll', ask, jobs }, ask, {});
  }

  #take(event: SchedulerEvent, ask: Ask, options: AskOptions): Promise<ReplyBody> {
    const { generation, images = [] } = options;
    const bytes = weightOf(event);
    const why = this.#backlog.refusal(event, this.#open, this.#pipeline, bytes);
    if (why !== null) return Promise.reject(why);
    const answer = this.#replies.wait(ask);
    const made = generation === undefined ? {} : { generation };
    this.#enqueue({ kind: 'event', event, ask, images, bytes, ...made });
    return answer;
  }

  /**
   * Feeds an event that rests on what `look` finds in the store; what the memory learns while it looks
   * is not forgotten. Jobs that it finds are fed together with the event: nobody sees the one without
   * the other, and a job that was brought in for nothing leaves at once.
   */
  askAfter<T>(
    look: () => Promise<T>,
    make: (found: T, ask: Ask) => SchedulerEvent,
    imagesIn: (found: T) => readonly JobImage[] = () => [],
  ): Promise<ReplyBody> {
    return this.#whileReading(async (generation) => {
      const found = await look();
      return this.ask((ask) => make(found, ask), { generation, images: imagesIn(found) });
    });
  }

  /** Feeds an event that nobody waits for. */
  tell(event: SchedulerEvent): void {
    if (this.#endedBy !== null || unstorableIn(event) !== null) return;
    this.#enqueue({ kind: 'event', event, ask: null, images: [], bytes: weightOf(event) });
  }

  /** Looks at facts that no commit can undo, such as a task's name, and at figures. */
  peek<T>(look: (state: SchedulerState, now: Instant) => T): T {
    return look(this.#state, this.#options.leaderTerm.time.now());
  }

  /** Reads the state; settles when everything that the answer rests on is committed. */
  read<T>(look: (state: SchedulerState, now: Instant) => T, isPromise = false): Promise<T> {
    if (this.#endedBy !== null) return Promise.reject(this.#endedBy);
    const { input, answer } = readInput(look, isPromise);
    this.#enqueue(input);
    return answer;
  }

  /**
   * Loads jobs from the store into the memory. Jobs that end while `read` is under way stay
   * ended, and what was read for a memory that was dropped meanwhile is read again.
   */
  async load(read: () => Promise<readonly JobImage[]>): Promise<readonly JobImage[]> {
    for (;;) {
      const taken = await this.#whileReading(async (generation) => {
        const images = await read();
        return (await this.#restore(images, generation)) ? images : null;
      });
      if (taken !== null) return taken;
    }
  }

  /** The memory notes what ends meanwhile: what `act` reads may be older than that. */
  async #whileReading<T>(act: (generation: number) => Promise<T>): Promise<T> {
    this.#readers += 1;
    try {
      const generation = await this.read((state) => {
        state.takeNotes();
        return this.#generation;
      });
      return await act(generation);
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0) this.#state.dropNotes();
    }
  }

  #restore(images: readonly JobImage[], generation: number): Promise<boolean> {
    if (this.#endedBy !== null) return Promise.reject(this.#endedBy);
    const { input, answer } = restoreInput(images, generation);
    this.#enqueue(input);
    return answer;
  }

  /** Ends the term from this side; waits for commits in flight, so that it can be resigned. */
  async end(why: MillraceError): Promise<void> {
    if (this.#isBusy) this.#settled ??= deferred();
    this.#end(why);
    await this.#settled?.promise;
  }

  get #isBusy(): boolean {
    return this.#phase === 'isolating' || !this.#pipeline.isEmpty;
  }

  #enqueue(input: Input): void {
    this.#backlog.push(input);
    this.#schedulePump();
  }

  /** A microtask: what arrives in the same turn of the event loop shares a batch. */
  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    queueMicrotask(() => {
      this.#isPumpScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#phase !== 'serving' || this.#endedBy !== null) return;
    this.#timer.beat(this.#state);
    if (this.#poison === null) this.#feedBacklog();
    if (this.#poison === null && this.#pipeline.takes(this.#open)) this.#close();
    // What is under way is answered first.
    if (this.#poison === null || !this.#pipeline.isEmpty) return;
    this.#isolate(this.#open.inputs, this.#poison);
  }

  #feedBacklog(): void {
    for (;;) {
      const input = this.#backlog.take(this.#open);
      if (input === null) return;
      this.#open.add(input);
      this.#poison = this.#feed(input, this.#open);
      if (this.#poison !== null) return;
    }
  }

  #feed(input: Input, batch: CommitBatch): MillraceError | null {
    const memory = { state: this.#state, generation: this.#generation };
    return feed(input, memory, this.#options.leaderTerm.time.now(), batch, this.#replies);
  }

  #finish(batch: CommitBatch, mayTick: boolean): MillraceError | null {
    const { leaderTerm, decide } = this.#options;
    const batches = [batch, ...this.#pipeline.batches].map(({ effects }) => effects);
    return finish(this.#state, leaderTerm.time.now(), batch, mayTick, () =>
      decide === undefined ? [] : decide(this.#state, batches),
    );
  }

  #close(): void {
    const batch = this.#open;
    const fault = this.#finish(batch, this.#timer.mayTick);
    if (fault !== null) {
      // Without inputs it is nobody's event but our own mistake: start over as a new leader.
      if (batch.inputs.length === 0) this.#end(fault);
      else this.#poison = fault;
      return;
    }
    // Its answers wait for those before it: so it may as well take more.
    if (batch.effects.isEmpty && !this.#pipeline.isEmpty) return this.#pipeline.passOver();
    this.#timer.arm(this.#state);
    this.#open = new CommitBatch();
    this.#backlog.closed(batch);
    if (!batch.isIdle || this.#options.leaderTerm.isRenewalDue) this.#pipeline.send(batch);
    if (!this.#backlog.isEmpty) this.#schedulePump();
  }

  async #write(batch: CommitBatch): Promise<Afterwards> {
    const { clock } = this.#options;
    const sentAtMs = clock.monotonicMs();
    const afterwards = await writeBatch(batch, this.#state, this.#options);
    return () => {
      afterwards();
      this.#timer.answered(sentAtMs, this.#state);
    };
  }

  /** Committed is committed: the answers go out even if the term has ended meanwhile. */
  #written(batch: CommitBatch): void {
    this.#deliver(batch);
    if (this.#endedBy === null) this.#schedulePump();
    else if (!this.#isBusy) this.#closeDoors(this.#endedBy);
  }

  #deliver(batch: CommitBatch): void {
    batch.committed();
    for (const reply of batch.effects.takeReplies()) this.#replies.answer(reply);
  }

  /** The fault is that of the first one. */
  #refused(batches: readonly CommitBatch[], fault: MillraceError): void {
    const isOurs = batches[0]?.inputs.length === 0;
    if (fault.code === 'bad_row' && !isOurs && this.#endedBy === null) {
      return this.#isolate(
        [...batches, this.#open].flatMap(({ inputs }) => inputs),
        fault,
      );
    }
    // Without inputs it is our own fault, and a term that is over looks for no offender.
    for (const batch of batches) batch.refuse(steppedDown(fault), this.#replies);
    this.#end(fault);
    this.#closeDoors(this.#endedBy ?? fault);
  }

  /**
   * Feeds the inputs again, each in a transaction of its own, from what the store has. The memory is changed in place
   * and has no undo, so it is reloaded: only what is needed to serve, the jobs that wait come in behind.
   */
  #isolate(failed: readonly Input[], fault: MillraceError): void {
    const inputs = apart(failed, this.#replies);
    this.#phase = 'isolating';
    this.#poison = null;
    this.#options.onFault?.(fault);
    this.#open = new CommitBatch();
    // Parked polls go with the memory: their callers poll again.
    const waiting = [...failed, ...inputs, ...this.#backlog.all()];
    this.#replies.refuseAllBut(asksIn(waiting), reloading());
    this.#feedOneByOne(inputs).then(
      () => {
        if (this.#endedBy !== null) return this.#closeDoors(this.#endedBy);
        this.#phase = 'serving';
        this.#options.onReloaded();
        this.#schedulePump();
      },
      (error: unknown) => {
        this.#phase = 'serving';
        const fault = asFault(error);
        const why = this.#endedBy ?? steppedDown(fault);
        // Before all callers are: what came as a list is answered with what became of each.
        for (const input of inputs) CommitBatch.of(input).refuse(why, this.#replies);
        this.#end(fault);
        this.#closeDoors(why);
      },
    );
  }

  async #feedOneByOne(inputs: readonly Input[]): Promise<void> {
    let isClean = false;
    for (const input of inputs) {
      if (this.#endedBy !== null) CommitBatch.of(input).refuse(this.#endedBy, this.#replies);
      else {
        if (!isClean) await this.#startOver();
        isClean = await this.#feedAlone(input);
      }
    }
    if (!isClean && this.#endedBy === null) await this.#startOver();
  }

  async #startOver(): Promise<void> {
    const { state, effects } = await this.#options.reload();
    this.#state = state;
    this.#generation += 1;
    this.#reloads += 1;
    await this.#writeAlone(new CommitBatch(effects));
    if (this.#readers > 0) this.#state.takeNotes();
  }

  /** Without a tick, so that no timer's fault is laid on the caller. False when this input was the
   * bad one; throws when the term cannot go on. */
  async #feedAlone(input: Input): Promise<boolean> {
    const batch = CommitBatch.of(input);
    const fault =
      this.#feed(input, batch) ??
      this.#finish(batch, false) ??
      (await this.#writeAlone(batch).then(() => null, asFault));
    if (fault === null) {
      this.#deliver(batch);
      return true;
    }
    batch.refuse(refusal(fault), this.#replies);
    if (fault.code !== 'bad_row' && fault.code !== 'invariant') throw fault;
    return false;
  }

  async #writeAlone(batch: CommitBatch): Promise<void> {
    const afterwards = await this.#write(batch);
    afterwards();
  }

  #end(why: MillraceError): void {
    if (this.#endedBy !== null) return;
    this.#endedBy = steppedDown(why);
    this.#timer.stop();
    if (!this.#isBusy) this.#closeDoors(this.#endedBy);
    this.#options.onEnd(why);
  }

  /** Nothing is in flight any more: every caller that still waits is answered. */
  #closeDoors(why: MillraceError): void {
    this.#phase = 'ended';
    this.#open.refuse(why, this.#replies);
    for (const input of this.#backlog.all()) if (input.kind !== 'event') input.refuse(why);
    this.#backlog.clear();
    this.#replies.refuseAllBut(new Set(), why);
    this.#settled?.resolve();
  }
}
