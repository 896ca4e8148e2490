/**
 * One session of a worker, from its registration to its end: it polls, runs, reports and renews until it has drained
 * and left, or until it has ended. After that its leases may belong to others: all work stops, nothing more is
 * reported, and the worker registers again.
 */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ExecutorRegistry, TaskLog } from '../../tasks/executors/index.ts';
import { Backoff, deferred, sleepOrAbort } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import type {
  FetchAhead,
  WorkerService,
  PollReply,
  Registered,
  Session,
  WorkerOrders,
  WorkerReport,
} from '../../scheduler/contract/index.ts';
import { AbortGraces } from './abort-graces.ts';
import { Attempt } from './attempt.ts';
import type { AttemptHost, StopWord } from './attempt.ts';
import type { LogSender } from './log-sender.ts';
import { marginMs } from './heartbeat.ts';
import type { Heartbeat, HeartbeatNews, StartHeartbeat } from './heartbeat.ts';
import { HeldTable } from './held-table.ts';
import { Outbox } from './outbox.ts';
import type { ItemVerdict } from './outbox.ts';
import { Poller } from './poller.ts';
import type { Prefetch } from './prefetch.ts';
import { deadlinePassed, drainOver, endsSession, leaseLost, stopOrdered } from './session-error.ts';
import type { WorkerSettings } from './settings.ts';
import { Slots } from './slots.ts';
import { taskLog } from './task-log.ts';
import type { WorkerMeasures } from './worker-measures.ts';

export interface SessionParts {
  readonly session: Session;
  readonly registered: Registered;
  /** When the accepted registration was sent, by the monotonic clock. */
  readonly registeredAtMs: number;
  /** The executors of that registration. */
  readonly offered: readonly string[];
  readonly leader: WorkerService;
  readonly startHeartbeat: StartHeartbeat;
  readonly executors: ExecutorRegistry;
  readonly slots: number;
  readonly prefetch: Prefetch;
  readonly settings: WorkerSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: TaskLog;
  readonly measures: WorkerMeasures;
  readonly logs: LogSender;
  /** A handler calls or maps over this. */
  readonly onCall: AttemptHost['onCall'];
  /** The leader wants this node to drain. */
  readonly onDrain: () => void;
  /** The leader recommends to have so many bytes on the way from each node whose outputs are fetched. */
  readonly onFetchWindow: (bytes: number) => void;
  readonly onFetchAhead: (ahead: readonly FetchAhead[]) => void;
  /** What becomes of a handler that ignores its abort. */
  readonly stuck: 'end' | 'abandon';
  /** With `end`: the process cannot go on. */
  readonly onStuck: (error: MillraceError) => void;
  /** Awaited before the goodbye, until the time for draining has passed. */
  readonly beforeLeave: (signal: AbortSignal) => Promise<void>;
}

export type SessionEnd =
  | { readonly kind: 'left' }
  | { readonly kind: 'over'; readonly error: Error };

export class WorkerSession {
  readonly #parts: SessionParts;
  readonly #slots: Slots;
  readonly #outbox: Outbox;
  readonly #poller: Poller;
  readonly #table: HeldTable;
  readonly #heartbeat: Heartbeat;
  readonly #host: AttemptHost;
  readonly #ended = deferred<SessionEnd>();
  readonly #life = new AbortController();
  readonly #drainOver = new AbortController();
  /** Running handlers, also after the end of the session. */
  #atWork = 0;
  readonly #isQuiet = deferred();
  readonly #graces: AbortGraces;
  #deadlineMs: number;
  #quietUntilMs = 0;
  #isDraining = false;
  #isLeaving = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#graces = new AbortGraces(parts);
    const { session, leader, clock, random, settings, slots, log, prefetch } = parts;
    const tools = {
      clock,
      random,
      settings,
      quietMs: (): number => this.#quietUntilMs - clock.monotonicMs(),
      onOver: (error: Error): void => this.#over(error),
      say: (line: string): void => log.warn(line),
    };
    this.#table = new HeldTable(slots + prefetch.max, (held) => this.#heartbeat.moved(held));
    this.#slots = new Slots({
      slots,
      prefetch: () => prefetch.size,
      mayStart: () => this.#mayStart,
      start: (attempt) => this.#start(attempt),
    });
    this.#outbox = new Outbox({
      ...tools,
      send: (items) => leader.report(session, items),
      onAnswer: (orders) => this.#reported(orders),
    });
    this.#poller = new Poller({
      ...tools,
      poll: (asked, signal) =>
        leader.poll({ ...session, ...asked, held: this.#slots.leases }, signal),
      capacity: () => (this.#mayStart && !this.#outbox.isFull ? this.#slots.free : null),
      onReply: (pollNo, reply, tookMs) => this.#polled(pollNo, reply, tookMs),
    });
    this.#host = {
      clock,
      executor: (name) => parts.executors.get(name),
      put: (item, onVerdict) => this.#outbox.put(item, onVerdict),
      log: (attempt) => taskLog(log, parts.logs, attempt),
      output: (attempt, stream, line) => parts.logs.output(attempt, stream, line),
      onCall: parts.onCall,
      onLost: (attempt) => this.#stop(attempt, leaseLost(attempt.assignment.taskId), null),
    };
    this.#deadlineMs = this.#deadlineAfter(parts.registeredAtMs);
    this.#heartbeat = parts.startHeartbeat(
      {
        session,
        ...parts.registered,
        executors: parts.offered,
        renewedAtMs: parts.registeredAtMs,
        abortGraceMs: settings.abortGraceMs,
        stuck: parts.stuck,
        held: this.#table.buffer,
      },
      (news) => this.#hear(news),
    );
  }

  /** Resolves when it has ended and none of its handlers runs any more. */
  async run(): Promise<SessionEnd> {
    this.#poller.run().catch((error: unknown) => {
      this.#over(error instanceof Error ? error : new Error(String(error)));
    });
    const end = await this.#ended.promise;
    if (this.#atWork > 0) await this.#isQuiet.promise;
    this.#heartbeat.stop();
    return end;
  }

  /** Tasks whose handlers run, as JOB/TASK. */
  get atWork(): readonly string[] {
    return this.#slots.running.map(({ assignment }) => `${assignment.jobId}/${assignment.taskId}`);
  }

  /** The leader knows of these executors from now on. */
  offer(executors: readonly string[]): void {
    this.#heartbeat.offer(executors);
  }

  /** Takes no more work, gives back what has not started, ends what runs within `withinMs`, leaves. */
  drain(withinMs: number): void {
    if (this.#life.signal.aborted) return;
    const cancel = this.#parts.clock.after(withinMs, () => {
      this.#drainOver.abort();
      for (const attempt of this.#slots.running) {
        this.#stop(attempt, drainOver(attempt.assignment.taskId), 'released');
      }
    });
    this.#life.signal.addEventListener('abort', cancel, { once: true });
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#poller.drain();
    for (const attempt of this.#slots.withdrawAll()) this.#giveBack(attempt, 'released');
    this.#leaveIfIdle();
  }

  get #mayStart(): boolean {
    const isAlive = this.#parts.clock.monotonicMs() < this.#deadlineMs;
    return isAlive && !this.#isDraining && !this.#life.signal.aborted;
  }

  #deadlineAfter(sentAtMs: number): number {
    const { sessionTtlMs, heartbeatMs } = this.#parts.registered;
    return sentAtMs + sessionTtlMs - marginMs(sessionTtlMs, heartbeatMs);
  }

  #polled(pollNo: number, { assignments, orders }: PollReply, tookMs: number): void {
    this.#parts.measures.polled(tookMs);
    if (this.#life.signal.aborted) return;
    const receivedAtMs = this.#parts.clock.monotonicMs();
    for (const assignment of assignments) {
      const attempt = new Attempt(assignment, this.#host, receivedAtMs);
      if (!this.#slots.hold(attempt)) continue;
      attempt.row = this.#table.hold(attempt.lease);
      if (this.#isDraining) this.#giveBack(attempt, 'released');
      else this.#slots.queue(attempt);
    }
    // Before anything starts: a handler may block this thread, and the other one must know of it.
    this.#table.seenPoll = pollNo;
    this.#obey(orders);
    this.#slots.fill();
  }

  #start(attempt: Attempt): void {
    const { clock, prefetch } = this.#parts;
    const isBulk = this.#host.executor(attempt.assignment.executor)?.isBulk === true;
    prefetch.began(isBulk);
    this.#table.runs(attempt.row, true);
    this.#atWork += 1;
    const startedAtMs = clock.monotonicMs();
    const outcome = attempt.run();
    if (!(outcome instanceof Promise)) return this.#ran(attempt, outcome, startedAtMs, isBulk);
    void outcome.then((item) => {
      this.#ran(attempt, item, startedAtMs, isBulk);
      if (!this.#life.signal.aborted) this.#slots.fill();
    });
  }

  #ran(attempt: Attempt, item: WorkerReport | null, startedAtMs: number, isBulk: boolean): void {
    const { clock, prefetch, measures, logs } = this.#parts;
    const ranMs = clock.monotonicMs() - startedAtMs;
    logs.hurry();
    measures.ended(attempt.assignment.executor, ranMs, item?.kind ?? 'dropped');
    prefetch.ended(isBulk, ranMs);
    this.#table.runs(attempt.row, false);
    this.#graces.disarm(attempt);
    this.#slots.ended(attempt);
    this.#finished(attempt, item);
    this.#atWork -= 1;
    if (this.#atWork === 0 && this.#life.signal.aborted) this.#isQuiet.resolve();
  }

  #finished(attempt: Attempt, item: WorkerReport | null): void {
    if (this.#life.signal.aborted) return;
    if (item === null) this.#forget(attempt);
    else this.#outbox.put(item, (said) => this.#confirmed(attempt, attempt.heard(item, said)));
    if (item === null) this.#roomChanged();
  }

  #giveBack(attempt: Attempt, kind: 'aborted' | 'released'): void {
    const { lease } = attempt;
    this.#outbox.put({ kind, lease }, (verdict) => this.#confirmed(attempt, verdict));
  }

  /** Accepted reports have made room at the leader, too. */
  #confirmed(attempt: Attempt, verdict: ItemVerdict): void {
    if (verdict === 'ok') this.#poller.ended();
    this.#forget(attempt);
  }

  #forget(attempt: Attempt): void {
    this.#slots.forget(attempt);
    this.#table.leave(attempt.row);
  }

  #reported(orders: WorkerOrders): void {
    this.#obey(orders);
    this.#roomChanged();
  }

  #roomChanged(): void {
    this.#poller.roomChanged();
    if (this.#isDraining) this.#leaveIfIdle();
  }

  #hear(news: HeartbeatNews): void {
    // The first call may come while the constructor still runs.
    queueMicrotask(() => this.#heartbeat.heard(news.no));
    if (this.#life.signal.aborted) return;
    switch (news.type) {
      case 'answered':
        this.#deadlineMs = Math.max(this.#deadlineMs, this.#deadlineAfter(news.sentAtMs));
        this.#obey(news.orders);
        this.#slots.fill();
        return this.#roomChanged();
      case 'over':
        return this.#over(new MillraceError({ code: news.code, what: news.what }));
      case 'expired':
        return this.#over(deadlinePassed());
    }
  }

  #obey({ abort, drain, slowDownMs, fetchWindowBytes, fetchAhead }: WorkerOrders): void {
    if (fetchWindowBytes !== undefined) this.#parts.onFetchWindow(fetchWindowBytes);
    if (fetchAhead !== undefined) this.#parts.onFetchAhead(fetchAhead);
    for (const lease of abort) {
      const attempt = this.#slots.get(lease);
      if (attempt === undefined || attempt.state === 'ended') continue;
      if (this.#slots.withdraw(attempt)) this.#giveBack(attempt, 'aborted');
      else if (attempt.state === 'running') {
        this.#stop(attempt, stopOrdered(attempt.assignment.taskId), 'aborted');
      }
    }
    if (slowDownMs > 0) {
      const { clock, registered } = this.#parts;
      const quietMs = Math.min(slowDownMs, registered.heartbeatMs);
      this.#quietUntilMs = clock.monotonicMs() + quietMs;
    }
    if (drain && !this.#isDraining) this.#parts.onDrain();
  }

  #stop(attempt: Attempt, reason: MillraceError, word: StopWord): void {
    if (attempt.state !== 'running') return;
    if (!attempt.isStopping) this.#graces.arm(attempt);
    attempt.stop(reason, word);
  }

  #over(error: Error): void {
    if (this.#life.signal.aborted) return;
    const reason =
      error instanceof MillraceError
        ? error
        : new MillraceError({ code: 'invariant', what: error.message, cause: error });
    for (const attempt of this.#slots.running) this.#stop(attempt, reason, null);
    this.#finish({ kind: 'over', error });
  }

  #finish(end: SessionEnd): void {
    if (this.#life.signal.aborted) return;
    this.#life.abort();
    this.#poller.stop();
    this.#outbox.stop();
    this.#slots.withdrawAll();
    this.#ended.resolve(end);
  }

  #leaveIfIdle(): void {
    if (this.#isLeaving || !this.#slots.isEmpty || !this.#outbox.isEmpty) return;
    this.#isLeaving = true;
    this.#leave().catch((error: unknown) => {
      this.#over(error instanceof Error ? error : new Error(String(error)));
    });
  }

  /** Without a goodbye the leader waits for the TTL, so it is tried, with a limit. */
  async #leave(): Promise<void> {
    const { leader, session, clock, settings, random, log, logs, beforeLeave } = this.#parts;
    await beforeLeave(AbortSignal.any([this.#drainOver.signal, this.#life.signal]));
    await logs.flush(settings.leaveMs);
    // The goodbye gives everything back.
    this.#poller.stop();
    const untilMs = clock.monotonicMs() + settings.leaveMs;
    const backoff = new Backoff({ firstMs: settings.retryMs, maxMs: settings.retryMaxMs }, random);
    const cancel = clock.after(settings.leaveMs, () => this.#finish({ kind: 'left' }));
    this.#life.signal.addEventListener('abort', cancel, { once: true });
    while (!this.#life.signal.aborted && clock.monotonicMs() < untilMs) {
      try {
        await leader.leave(session);
        return this.#finish({ kind: 'left' });
      } catch (error) {
        if (endsSession(error)) return this.#finish({ kind: 'left' });
        log.warn(`Leaving was not acknowledged: ${error instanceof Error ? error.message : ''}`);
        await sleepOrAbort(clock, backoff.nextMs(), this.#life.signal);
      }
    }
  }
}
