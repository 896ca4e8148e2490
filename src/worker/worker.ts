/** A worker: one session after another, until it is drained. */
import { MillraceError } from '../core/index.ts';
import type { Capabilities, NodeId, NodeOffer, SessionId } from '../core/index.ts';
import type { ExecutorRegistry, TaskLog } from '../executors/index.ts';
import { deferred, startStop } from '../kit/index.ts';
import type { Clock, Deferred, StartStop } from '../kit/index.ts';
import type { Handshake, LeaderForWorkers, Registered, Session } from '../protocol/index.ts';
import type { StartHeartbeat } from './heartbeat.ts';
import { BackOff, pause } from './pause.ts';
import { Prefetch } from './prefetch.ts';
import { WorkerSession } from './session.ts';
import { endsSession, isFinal, isRefusedAtStart } from './session-error.ts';
import { defaultWorkerSettings } from './settings.ts';
import type { WorkerSettings } from './settings.ts';

export interface WorkerOptions {
  readonly nodeId: NodeId;
  /** Handlers at work at the same time; 0 executes nothing. */
  readonly slots: number;
  /** Held ready beyond that; without it as many as the run times call for. */
  readonly prefetch?: number;
  readonly executors: ExecutorRegistry;
  readonly capabilities: Capabilities;
  /** Where this worker's own services are reached, as HOST:PORT. */
  readonly address: string | null;
  readonly handshake: Handshake;
  readonly leader: LeaderForWorkers;
  readonly startHeartbeat: StartHeartbeat;
  readonly clock: Clock;
  /** From 0 to 1, for jitter. */
  readonly random: () => number;
  /** A new one for every session. */
  readonly newSessionId: () => SessionId;
  readonly log: TaskLog;
  /** A handler ignores its abort: the process has to end. */
  readonly onStuck: (error: MillraceError) => void;
  /** The session that lives now; null while there is none. */
  readonly onSession?: (session: Session | null) => void;
  readonly settings?: Partial<WorkerSettings>;
}

export class Worker implements StartStop {
  readonly #options: WorkerOptions;
  readonly #settings: WorkerSettings;
  readonly #backOff: BackOff;
  readonly #rejoin: BackOff;
  readonly #prefetch: Prefetch;
  readonly #life: StartStop;
  #drained = new AbortController();
  #session: WorkerSession | null = null;
  #ended: Deferred<void> = deferred();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#settings = { ...defaultWorkerSettings, ...options.settings };
    this.#prefetch = new Prefetch(options.slots, options.prefetch);
    const { retryMs, retryMaxMs, rejoinMaxMs } = this.#settings;
    this.#backOff = new BackOff(retryMs, retryMaxMs, options.random);
    this.#rejoin = new BackOff(retryMs, rejoinMaxMs, options.random);
    this.#life = startStop({
      start: (signal) => this.#begin(signal),
      stop: () => this.#finish(this.#settings.drainMs),
    });
  }

  get running(): boolean {
    return this.#life.running;
  }

  /** Resolves once it is registered. Rejects when the leader will never have it as it is. */
  start(): Promise<void> {
    return this.#life.start();
  }

  /** Drains: resolves when it has left. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** As `stop`, but what runs is not waited for: it is aborted and given back. */
  async stopNow(): Promise<void> {
    this.#drain(0);
    await this.stop();
  }

  /** When it has drained, whoever asked for that; rejects when it cannot go on. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    this.#ended = deferred();
    // Whoever asks gets the error; nobody has to.
    this.#ended.promise.catch(() => {});
    this.#drained = new AbortController();
    const drain = (): void => this.#drain(this.#settings.drainMs);
    signal.addEventListener('abort', drain, { once: true });
    const registered = deferred();
    const live = this.#live(registered.resolve);
    live.then(this.#ended.resolve, this.#ended.reject);
    await Promise.race([registered.promise, live]);
    if (!signal.aborted) return;
    await live;
    throw new MillraceError({
      code: 'shutting_down',
      what: 'The worker was stopped before it was registered.',
    });
  }

  async #finish(withinMs: number): Promise<void> {
    this.#drain(withinMs);
    await this.#ended.promise;
  }

  #drain(withinMs: number): void {
    this.#drained.abort();
    this.#session?.drain(withinMs);
  }

  async #live(onFirst: () => void): Promise<void> {
    const { onSession, log, clock } = this.#options;
    for (let isFirst = true; !this.#drained.signal.aborted; isFirst = false) {
      const session = await this.#register(isFirst);
      if (session === null) return;
      this.#session = session.work;
      onSession?.(session.name);
      if (isFirst) onFirst();
      else log.info(`Registered anew as session ${session.name.sessionId}.`);
      if (this.#drained.signal.aborted) session.work.drain(this.#settings.drainMs);
      const end = await session.work.run();
      this.#session = null;
      onSession?.(null);
      if (end.kind === 'left') return;
      log.warn(`The session is over and its work was stopped: ${end.error.message}`);
      if (clock.monotonicMs() > session.lastsUntilMs) this.#rejoin.reset();
      await pause(clock, this.#rejoin.nextMs(), this.#drained.signal);
    }
  }

  /** For ever, until it is told to stop or refused for good. Null when it was stopped. */
  async #register(isFirst: boolean): Promise<NamedSession | null> {
    const { leader, handshake, clock, log, newSessionId, nodeId } = this.#options;
    const { signal } = this.#drained;
    let name: Session = { nodeId, sessionId: newSessionId() };
    while (!signal.aborted) {
      const registeredAtMs = clock.monotonicMs();
      try {
        const registered = await leader.register(this.#offer(name), handshake);
        this.#backOff.reset();
        const lastsUntilMs = registeredAtMs + registered.sessionTtlMs;
        return { name, work: this.#open(name, registered, registeredAtMs), lastsUntilMs };
      } catch (error) {
        if (isFinal(error) || (isFirst && isRefusedAtStart(error))) throw error;
        // The registration was accepted, its answer lost, and its time is up.
        if (endsSession(error)) name = { nodeId, sessionId: newSessionId() };
        const text = error instanceof Error ? error.message : String(error);
        log.warn(`No leader took the registration yet: ${text}`);
        await pause(clock, this.#backOff.nextMs(), signal);
      }
    }
    return null;
  }

  #offer({ nodeId, sessionId }: Session): NodeOffer {
    const { slots, executors, capabilities, address, handshake } = this.#options;
    return {
      id: nodeId,
      sessionId,
      slots: slots + this.#prefetch.max,
      executors: executors.names,
      // What it may hold is more than what it runs at a time; people want to know the latter.
      capabilities: { slots, ...capabilities },
      address,
      version: handshake.millrace,
    };
  }

  #open(session: Session, registered: Registered, registeredAtMs: number): WorkerSession {
    const { leader, startHeartbeat, executors, slots, clock, random, log, onStuck } = this.#options;
    return new WorkerSession({
      session,
      registered,
      registeredAtMs,
      leader,
      startHeartbeat,
      executors,
      slots,
      prefetch: this.#prefetch,
      settings: this.#settings,
      clock,
      random,
      log,
      onStuck,
      onDrain: () => {
        log.info('The leader asks this node to drain.');
        this.#drain(this.#settings.drainMs);
      },
    });
  }
}

interface NamedSession {
  readonly name: Session;
  readonly work: WorkerSession;
  /** One that lived longer than its first TTL was no mishap. */
  readonly lastsUntilMs: number;
}
