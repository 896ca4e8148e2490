/**
 * Renews one session, and watches over it: it knows when the leader may have given the leases away, and
 * when the thread that runs the handlers does not listen. The same loop runs in a thread of its own and,
 * in tests, beside the session.
 */
import type { LeaseName } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { WorkerFigures, WorkerService, WorkerOrders } from '../../scheduler/contract/index.ts';
import { marginMs } from './heartbeat.ts';
import type { Heartbeat, HeartbeatNews, HeartbeatStart } from './heartbeat.ts';
import { HeldTable } from './held-table.ts';
import { leaseKey } from './lease-key.ts';
import { endsSession } from './session-error.ts';

export interface HeartbeatLoopOptions {
  readonly leader: Pick<WorkerService, 'heartbeat' | 'report'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly start: HeartbeatStart;
  readonly tell: (news: HeartbeatNews) => void;
  /** The other thread did not handle an abort within its grace period: a handler blocks it. */
  readonly onStuck: (why: string) => void;
}

/** A leader that does not answer gets no more than this many questions at once. */
const UNANSWERED_MAX = 4;

type News<T> = T extends unknown ? Omit<T, 'no'> : never;

export class HeartbeatLoop implements Heartbeat {
  readonly #options: HeartbeatLoopOptions;
  #held: HeldTable;
  #figures: WorkerFigures | undefined;
  #executors: readonly string[];
  #renewedAtMs: number;
  #unanswered = 0;
  #said = 0;
  #heard = 0;
  /** The last news at the time of the last beat: if the next one has not seen it, the thread is blocked. */
  #saidBefore = 0;
  #isStopped = false;
  #cancelBeat: () => void = () => {};
  #cancelDeadline: () => void = () => {};
  #cancelStuck: (() => void) | null = null;

  constructor(options: HeartbeatLoopOptions) {
    this.#options = options;
    this.#held = new HeldTable(options.start.held);
    this.#renewedAtMs = options.start.renewedAtMs;
    this.#executors = options.start.executors;
    this.#armDeadline();
    this.#armBeat(options.start.heartbeatMs);
  }

  moved(held: SharedArrayBuffer): void {
    this.#held = new HeldTable(held);
  }

  offer(executors: readonly string[]): void {
    this.#executors = executors;
  }

  heard(no: number, figures?: WorkerFigures): void {
    this.#figures = figures;
    this.#heard = Math.max(this.#heard, no);
    if (this.#heard < this.#said) return;
    this.#cancelStuck?.();
    this.#cancelStuck = null;
  }

  /** Once the session has ended for good, no listener is needed. */
  stop(): void {
    this.#fallSilent();
    this.#cancelStuck?.();
    this.#cancelStuck = null;
  }

  #fallSilent(): void {
    this.#isStopped = true;
    this.#cancelBeat();
    this.#cancelDeadline();
  }

  #armBeat(ms: number): void {
    this.#cancelBeat();
    this.#cancelBeat = this.#options.clock.after(ms, () => this.#beat());
  }

  #beat(): void {
    const { leader, clock, start } = this.#options;
    // The next one comes whatever becomes of this one.
    this.#armBeat(start.heartbeatMs);
    if (this.#unanswered >= UNANSWERED_MAX) return;
    this.#unanswered += 1;
    this.#speakForBlocked();
    const sentAtMs = clock.monotonicMs();
    // In this order.
    const { seenPoll } = this.#held;
    const held = this.#held.leases;
    const beat = {
      ...start.session,
      executors: this.#executors,
      held,
      seenPoll,
      ...(this.#figures === undefined ? {} : { figures: this.#figures }),
    };
    leader
      .heartbeat(beat)
      .finally(() => (this.#unanswered -= 1))
      .then(
        (orders) => this.#answered(sentAtMs, orders),
        (error: unknown) => this.#failed(error),
      );
  }

  #answered(sentAtMs: number, orders: WorkerOrders): void {
    if (this.#isStopped) return;
    this.#renewedAtMs = Math.max(this.#renewedAtMs, sentAtMs);
    this.#armDeadline();
    this.#say({ type: 'answered', sentAtMs, orders });
    if (this.#runs(orders.abort)) this.#watch('the leader ordered a task to stop');
  }

  #failed(error: unknown): void {
    if (this.#isStopped) return;
    if (endsSession(error)) {
      const code = error.code === 'superseded' ? 'superseded' : 'unknown_session';
      return this.#end({ type: 'over', code, what: error.what }, 'its session was over');
    }
    const { random, start } = this.#options;
    this.#armBeat(start.heartbeatMs * (0.1 + 0.3 * random()));
  }

  #armDeadline(): void {
    const { clock, start } = this.#options;
    const { sessionTtlMs, heartbeatMs } = start;
    const atMs = this.#renewedAtMs + sessionTtlMs - marginMs(sessionTtlMs, heartbeatMs);
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
      this.#end({ type: 'expired' }, 'the leader did not respond for too long');
    });
  }

  #end(news: News<HeartbeatNews>, why: string): void {
    this.#fallSilent();
    this.#say(news);
    if (this.#held.isBusy) this.#watch(why);
  }

  #say(news: News<HeartbeatNews>): void {
    this.#said += 1;
    this.#options.tell({ ...news, no: this.#said });
  }

  /** Only what runs can ignore an abort; what has ended waits for its report at worst. */
  #runs(leases: readonly LeaseName[]): boolean {
    if (leases.length === 0) return false;
    const keys = new Set(leases.map(leaseKey));
    return this.#held.running.some((lease) => keys.has(leaseKey(lease)));
  }

  #watch(why: string): void {
    if (this.#heard >= this.#said || this.#cancelStuck !== null) return;
    const { clock, start, onStuck } = this.#options;
    const { abortGraceMs, stuck } = start;
    // The process is not ours to end. While it is blocked it does nothing else for its tasks either.
    if (stuck === 'abandon') return;
    this.#cancelStuck = clock.after(abortGraceMs, () => {
      onStuck(`${why}, and a handler has blocked this process for ${abortGraceMs} ms since then`);
    });
  }

  /** A handler that blocks its thread from its first instruction delays the report of its start, and with it the start
   * of its run timeout. So it is reported here. */
  #speakForBlocked(): void {
    const isBlocked = this.#heard < this.#saidBefore;
    this.#saidBefore = this.#said;
    if (!isBlocked) return;
    const { leader, start } = this.#options;
    const leases = this.#held.running;
    if (leases.length === 0) return;
    const items = leases.map((lease) => ({ kind: 'started', lease }) as const);
    leader.report(start.session, items).then(
      ({ orders }) => {
        if (!this.#isStopped && this.#runs(orders.abort)) {
          this.#watch('the leader ordered a task to stop');
        }
      },
      // The next beat says it again.
      () => {},
    );
  }
}
