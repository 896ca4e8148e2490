import type { SchedulerState } from '../core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { DatabaseTime } from './database-time.ts';

/** When a leader wakes by itself, and when it may let time end things. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #time: DatabaseTime;
  readonly #wake: () => void;
  #cancel: () => void = () => {};
  #lastBeatMs: number;
  #heldUntilMs = 0;

  constructor(clock: Clock, time: DatabaseTime, wake: () => void) {
    this.#clock = clock;
    this.#time = time;
    this.#wake = wake;
    this.#lastBeatMs = clock.monotonicMs();
  }

  /**
   * Called whenever the leader does anything. After a pause of this process its sockets are full
   * of unread heartbeats: for a while they are read and nothing is ended by time.
   */
  beat({ settings }: SchedulerState): void {
    const nowMs = this.#clock.monotonicMs();
    const { leaderRenewMs, heartbeatMs } = settings;
    if (nowMs - this.#lastBeatMs > leaderRenewMs * 2) this.#heldUntilMs = nowMs + heartbeatMs;
    this.#lastBeatMs = nowMs;
  }

  /** A store that was slow kept the answers to heartbeats back as well: their senders come first. */
  answered(sentAtMs: number, { settings }: SchedulerState): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - sentAtMs <= settings.leaderRenewMs * 2) return;
    this.#heldUntilMs = nowMs + settings.heartbeatMs;
  }

  get mayTick(): boolean {
    return this.#clock.monotonicMs() >= this.#heldUntilMs;
  }

  /** Wakes when the next timer is due, and often enough to renew the term. */
  arm(state: SchedulerState): void {
    this.#cancel();
    const { leaderRenewMs } = state.settings;
    const at = state.nextWakeAt();
    const dueMs = at === null ? leaderRenewMs : at - this.#time.now();
    const heldMs = this.#heldUntilMs - this.#clock.monotonicMs();
    const waitMs = Math.min(leaderRenewMs, Math.max(1, dueMs, heldMs));
    this.#cancel = this.#clock.after(waitMs, this.#wake);
  }

  stop(): void {
    this.#cancel();
  }
}
