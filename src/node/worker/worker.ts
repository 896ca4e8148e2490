/** A worker: one session after another, until it is drained. */
import { FLOWS_CAPABILITY, MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type {
  Capabilities,
  NodeId,
  FlowDeclaration,
  NodeOffer,
  SessionId,
} from '../../scheduler/core/index.ts';
import { declarationOf } from '../../tasks/executors/index.ts';
import type { Executor, ExecutorRegistry, TaskLog } from '../../tasks/executors/index.ts';
import { Backoff, deferred, sleepOrAbort, startStop } from '../../kit/index.ts';
import type { Clock, Deferred, StartStop } from '../../kit/index.ts';
import type {
  FetchAhead,
  Handshake,
  WorkerService,
  Registered,
  Session,
  TaskLogLine,
} from '../../scheduler/contract/index.ts';
import { CalledFlows } from './called-flows.ts';
import type { StartHeartbeat } from './heartbeat.ts';
import { LogSender } from './log-sender.ts';
import { Prefetch } from './prefetch.ts';
import { WorkerSession } from './session.ts';
import { endsSession, isFinal, isRefusedAtStart } from './session-error.ts';
import { defaultWorkerSettings } from './settings.ts';
import type { WorkerSettings } from './settings.ts';
import { WorkerMeasures } from './worker-measures.ts';

/** A worker tries every second or so: why it is not accepted need not be said as often. */
const SAY_AGAIN_MS = 30_000;

export interface WorkerOptions {
  readonly nodeId: NodeId;
  /** Handlers that run at the same time; 0 executes nothing. */
  readonly slots: number;
  /** Held ready beyond that; without it as many as the run times call for. */
  readonly prefetch?: number;
  readonly executors: ExecutorRegistry;
  readonly capabilities: Capabilities;
  /** Capabilities that come and go; `reoffer` tells of them. */
  readonly passing?: () => Capabilities;
  /** Where this worker's own services are reached, as HOST:PORT. */
  readonly address: string | null;
  readonly handshake: Handshake;
  readonly leader: WorkerService;
  readonly startHeartbeat: StartHeartbeat;
  readonly clock: Clock;
  /** From 0 to 1, for jitter. */
  readonly random: () => number;
  /** A new one for every session. */
  readonly newSessionId: () => SessionId;
  readonly log: TaskLog;
  readonly measures?: WorkerMeasures;
  /** A handler that ignores its abort: `end` the process (the default), or `abandon` the handler if the process is the
   * user's own. Then its slot is freed although the handler may still run. */
  readonly stuck?: 'end' | 'abandon';
  /** With `end`: the process has to end. */
  readonly onStuck: (error: MillraceError) => void;
  /** The session that lives now; null while there is none. */
  readonly onSession?: (session: OpenSession | null) => void;
  /** See `WorkerOrders.fetchWindowBytes`. */
  readonly onFetchWindow?: (bytes: number) => void;
  /** See `WorkerOrders.fetchAhead`. */
  readonly onFetchAhead?: (ahead: readonly FetchAhead[]) => void;
  /** Awaited before a draining session says goodbye, until its time has passed. */
  readonly beforeLeave?: (session: Session, signal: AbortSignal) => Promise<void>;
  readonly settings?: Partial<WorkerSettings>;
  /** Takes in what a handler has called, instead of the registry. */
  readonly learn?: (executor: Executor) => void;
}

export interface OpenSession extends Session {
  /** The leader's name for it, which is public; null if not known. */
  readonly shownAs: string | null;
}

export class Worker implements StartStop {
  readonly #options: WorkerOptions;
  readonly #settings: WorkerSettings;
  readonly #backoff: Backoff;
  readonly #rejoin: Backoff;
  readonly #prefetch: Prefetch;
  readonly #life: StartStop;
  readonly #called: CalledFlows;
  readonly #measures: WorkerMeasures;
  readonly #logs: LogSender;
  #drained = new AbortController();
  #session: NamedSession | null = null;
  /** Resolves when there is another session than now. */
  #next: Deferred<void> = deferred();
  #announcing: Promise<void> | null = null;
  #isLiving = false;
  #ended: Deferred<void> = deferred();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#measures = options.measures ?? new WorkerMeasures();
    const { clock, random } = options;
    this.#logs = new LogSender({ clock, random, send: (lines) => this.#sendLogs(lines) });
    this.#settings = { ...defaultWorkerSettings, ...options.settings };
    this.#prefetch = new Prefetch(options.slots, options.prefetch);
    const { retryMs, retryMaxMs, rejoinMaxMs } = this.#settings;
    this.#backoff = new Backoff({ firstMs: retryMs, maxMs: retryMaxMs }, options.random);
    this.#rejoin = new Backoff({ firstMs: retryMs, maxMs: rejoinMaxMs }, options.random);
    this.#called = new CalledFlows({
      ...options,
      // It goes on until the leader knows, or the worker ends.
      announce: () => void this.offer([], 'a handler').catch(() => {}),
    });
    this.#life = startStop({
      start: (signal) => this.#begin(signal),
      stop: () => this.#finish(this.#settings.drainMs),
    });
  }

  get running(): boolean {
    return this.#life.running;
  }

  /** Tasks whose handlers run, as JOB/TASK. */
  get atWork(): readonly string[] {
    return this.#session?.work.atWork ?? [];
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

  /**
   * Adds executors while it lives: the same session registers again with the longer list and loses
   * nothing by it. Resolves when the leader may give out tasks for them. One that is there already is
   * left as it is; another one of the same name is refused.
   */
  async offer(executors: Iterable<Executor>, from: string): Promise<void> {
    const registry = this.#options.executors;
    for (const executor of executors) {
      if (registry.get(executor.name) !== executor) registry.add(executor, from);
    }
    await this.reoffer();
  }

  async #sendLogs(lines: readonly TaskLogLine[]): Promise<void> {
    const session = this.#session;
    if (session === null) throw new Error('There is no session.');
    await this.#options.leader.writeLogs(session.name, lines);
  }

  /** Registers again under the same session if what it offers has changed. */
  async reoffer(): Promise<void> {
    // One at a time: an older offer must not reach the leader after a newer one.
    this.#announcing ??= this.#announce().finally(() => (this.#announcing = null));
    await this.#announcing;
  }

  /** Resolves when it has drained, on whatever request; rejects if it cannot continue. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    this.#ended = deferred();
    // The error is for those who ask.
    this.#ended.promise.catch(() => {});
    this.#drained = new AbortController();
    const drain = (): void => this.#drain(this.#settings.drainMs);
    signal.addEventListener('abort', drain, { once: true });
    const registered = deferred();
    this.#isLiving = true;
    const live = this.#live(registered.resolve).finally(() => (this.#isLiving = false));
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
    this.#session?.work.drain(withinMs);
  }

  async #live(onFirst: () => void): Promise<void> {
    const { onSession, log, clock } = this.#options;
    for (let isFirst = true; !this.#drained.signal.aborted; isFirst = false) {
      const session = await this.#register(isFirst);
      if (session === null) return;
      this.#session = session;
      this.#next.resolve();
      this.#next = deferred();
      onSession?.({ ...session.name, shownAs: session.shownAs });
      if (isFirst) onFirst();
      else log.info('Registered again with a new session.');
      if (this.#drained.signal.aborted) session.work.drain(this.#settings.drainMs);
      const end = await session.work.run();
      this.#session = null;
      onSession?.(null);
      if (end.kind === 'left') return;
      log.warn(`The session has ended and its tasks were stopped: ${end.error.message}`);
      if (clock.monotonicMs() > session.lastsUntilMs) this.#rejoin.reset();
      await sleepOrAbort(clock, this.#rejoin.nextMs(), this.#drained.signal);
    }
  }

  /** Retries until it is asked to stop or refused for good. Null when it was stopped. */
  async #register(isFirst: boolean): Promise<NamedSession | null> {
    const { leader, clock, log, newSessionId, nodeId } = this.#options;
    const { signal } = this.#drained;
    let name: Session = { nodeId, sessionId: newSessionId() };
    let takenSinceMs: number | null = null;
    let said = { text: '', atMs: 0 };
    while (!signal.aborted) {
      const registeredAtMs = clock.monotonicMs();
      try {
        const offer = this.#offer(name);
        const registered = await this.#registerAt(leader, offer);
        this.#backoff.reset();
        const opening = { ...registered, registeredAtMs, offered: offer.executors };
        const work = this.#open(name, opening);
        const offered = JSON.stringify(offer);
        const shownAs = registered.sessionName ?? null;
        const lastsUntilMs = registeredAtMs + registered.sessionTtlMs;
        return { name, shownAs, work, offered, lastsUntilMs };
      } catch (error) {
        if (isFinal(error) || (isFirst && isRefusedAtStart(error))) throw error;
        // A worker that has just crashed looks alive for a few heartbeats. After that it is another one.
        takenSinceMs = isMillraceError(error, 'name_taken')
          ? (takenSinceMs ?? registeredAtMs)
          : null;
        const { nameTakenMs } = this.#settings;
        if (takenSinceMs !== null && registeredAtMs - takenSinceMs >= nameTakenMs) throw error;
        // The registration was accepted, its answer lost, and its time is up.
        if (endsSession(error)) name = { nodeId, sessionId: newSessionId() };
        const text = error instanceof Error ? error.message : String(error);
        if (text !== said.text || registeredAtMs - said.atMs >= SAY_AGAIN_MS) {
          log.warn(`No leader has accepted the registration yet: ${text}`);
          said = { text, atMs: registeredAtMs };
        }
        await sleepOrAbort(clock, this.#backoff.nextMs(), signal);
      }
    }
    return null;
  }

  /** Until the session has said all there is. A worker that is not started will do so when it is. */
  async #announce(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#drained;
    while (this.#isLiving && !signal.aborted) {
      const session = this.#session;
      if (session !== null && session.offered === this.#said(session.name)) return;
      try {
        if (session === null) await Promise.race([this.#next.promise, this.#ended.promise]);
        else await this.#tellAgain(session);
      } catch (error) {
        if (isFinal(error)) throw error;
        const text = error instanceof Error ? error.message : String(error);
        log.warn(`The new executors are not registered with the leader yet: ${text}`);
        await sleepOrAbort(clock, this.#settings.retryMs, signal);
      }
    }
  }

  async #tellAgain(session: NamedSession): Promise<void> {
    const { leader } = this.#options;
    const offer = this.#offer(session.name);
    await this.#registerAt(leader, offer);
    session.offered = JSON.stringify(offer);
    session.work.offer(offer.executors);
  }

  #said(session: Session): string {
    return JSON.stringify(this.#offer(session));
  }

  /** Tells a leader all that this worker has. */
  #registerAt(leader: WorkerService, offer: NodeOffer): Promise<Registered> {
    const { handshake, executors } = this.#options;
    const operators = executors.operators.map(({ definition }) => declarationOf(definition));
    return leader.register(offer, handshake, operators, executors.flows);
  }

  #offer({ nodeId, sessionId }: Session): NodeOffer {
    const { slots, executors, capabilities, passing, address, handshake } = this.#options;
    return {
      id: nodeId,
      sessionId,
      slots,
      prefetch: this.#prefetch.max,
      executors: executors.names,
      capabilities: { ...capabilities, ...passing?.(), ...versionsOf(executors.flows) },
      address,
      version: handshake.millrace,
    };
  }

  #open(session: Session, { registeredAtMs, offered, ...registered }: Opening): WorkerSession {
    const { leader, startHeartbeat, executors, slots, clock, random, log } = this.#options;
    const { onStuck, stuck = 'end', beforeLeave } = this.#options;
    return new WorkerSession({
      session,
      registered,
      registeredAtMs,
      offered,
      leader,
      startHeartbeat,
      executors,
      slots,
      prefetch: this.#prefetch,
      settings: this.#settings,
      clock,
      random,
      log,
      measures: this.#measures,
      logs: this.#logs,
      stuck,
      onStuck,
      onCall: ({ assignment: { jobId, taskId } }, what, names) =>
        this.#called.called(`${jobId}/${taskId}`, what, names),
      onFetchWindow: (bytes) => this.#options.onFetchWindow?.(bytes),
      onFetchAhead: (ahead) => this.#options.onFetchAhead?.(ahead),
      beforeLeave: async (signal) => beforeLeave?.(session, signal),
      onDrain: () => {
        log.info('The leader has asked this node to drain.');
        this.#drain(this.#settings.drainMs);
      },
    });
  }
}

/** Which graph a new job gets depends on the versions that live nodes have. */
function versionsOf(flows: readonly FlowDeclaration[]): Capabilities {
  if (flows.length === 0) return {};
  return { [FLOWS_CAPABILITY]: flows.map(({ name, version }) => `${name}@${version}`) };
}

interface Opening extends Registered {
  readonly registeredAtMs: number;
  readonly offered: readonly string[];
}

interface NamedSession {
  /** Its id is a secret of this worker. */
  readonly name: Session;
  readonly shownAs: string | null;
  readonly work: WorkerSession;
  /** The last offer that was sent to the leader. */
  offered: string;
  /** One that lived longer than its first TTL was no mishap. */
  readonly lastsUntilMs: number;
}
