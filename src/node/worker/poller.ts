/**
 * Asks for work: one poll at a time, parked at the leader while there is none. It says how many tasks it may bring;
 * the leader adds one for each task that is reported as ended meanwhile. When there is much more room than that, it
 * is renewed. A worker that drains calls it back, and asks once more for what was assigned meanwhile, because only
 * this worker can return that.
 */
import { Backoff, type Clock, sleepOrAbort } from '../../kit/index.ts';
import type { PollReply, PollRequest } from '../../scheduler/contract/index.ts';
import { endsSession } from './session-error.ts';
import type { WorkerSettings } from './settings.ts';

export interface PollerOptions {
  readonly poll: (asked: Asked, signal: AbortSignal) => Promise<PollReply>;
  /** How many tasks there is room for right now; null when it takes none, whatever ends. */
  readonly capacity: () => number | null;
  readonly onReply: (pollNo: number, reply: PollReply, tookMs: number) => void;
  readonly onOver: (error: Error) => void;
  readonly quietMs: () => number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: WorkerSettings;
  readonly say: (line: string) => void;
}

/** More are brought by the next poll, while these are worked on. */
const TASKS_A_POLL = 500;

/** An abort without a reason makes an error with a stack for each. */
const RENEWED = 'renewed';

/** A change of leaders makes several polls fail in a second, and an outage lasts: one line tells as much as ten. */
const SAY_EVERY_MS = 10_000;

type Asked = Required<Pick<PollRequest, 'pollNo' | 'capacity' | 'refills' | 'waits'>>;

interface Parked {
  /** What the leader takes it to ask for. */
  capacity: number;
  readonly refills: boolean;
  readonly sentAtMs: number;
  readonly control: AbortController;
  isRenewed: boolean;
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #life = new AbortController();
  readonly #drained = new AbortController();
  readonly #backoff: Backoff;
  #pollNo = 0;
  #parked: Parked | null = null;
  #cancelRenewal: () => void = () => {};
  #saidAtMs = -Infinity;

  constructor(options: PollerOptions) {
    this.#options = options;
    const { retryMs, retryMaxMs } = options.settings;
    this.#backoff = new Backoff({ firstMs: retryMs, maxMs: retryMaxMs }, options.random);
  }

  /** Until it has drained, is stopped, or the session has ended. */
  async run(): Promise<void> {
    const { clock, quietMs, capacity } = this.#options;
    const { signal } = this.#drained;
    while (!signal.aborted) {
      // Also without room: it will come, orders come at once, and the leader sees when the process dies.
      const waitMs = await this.#pollOnce(capacity());
      await sleepOrAbort(clock, Math.max(waitMs ?? 0, quietMs()), signal);
    }
    while (!this.#life.signal.aborted) {
      const waitMs = await this.#pollOnce(null, false);
      if (waitMs === null) return;
      await sleepOrAbort(clock, waitMs, this.#life.signal);
    }
  }

  /** Takes nothing more: a parked poll is called back, and what it brings all the same is still handed out. */
  drain(): void {
    this.#drained.abort();
    this.#parked?.control.abort();
    this.#cancelRenewal();
  }

  stop(): void {
    this.#life.abort();
    this.drain();
  }

  /** The leader has accepted that a task has ended. */
  ended(): void {
    if (this.#parked?.refills === true) this.#parked.capacity += 1;
  }

  /** Room may have become free. */
  roomChanged(): void {
    const capacity = wantedIn(this.#options.capacity());
    if (capacity === 0) return;
    const parked = this.#parked;
    if (parked === null || parked.isRenewed || capacity < Math.max(1, parked.capacity * 2)) return;
    parked.isRenewed = true;
    const { clock, settings } = this.#options;
    const waitMs = parked.sentAtMs + settings.pollRenewMs - clock.monotonicMs();
    // A poll that is about to be answered is left alone.
    this.#cancelRenewal = clock.after(Math.max(0, waitMs), () => parked.control.abort(RENEWED));
  }

  /** Returns how long to wait before the next one; null when it was answered and had not to be parked. */
  async #pollOnce(room: number | null, waits = true): Promise<number | null> {
    const { poll, clock, settings, onReply, onOver } = this.#options;
    const sentAtMs = clock.monotonicMs();
    const capacity = wantedIn(room);
    const refills = room !== null;
    const control = new AbortController();
    const parked = { capacity, refills, sentAtMs, control, isRenewed: false };
    this.#parked = parked;
    this.#pollNo += 1;
    const pollNo = this.#pollNo;
    try {
      const reply = await poll({ pollNo, capacity, refills, waits }, parked.control.signal);
      this.#backoff.reset();
      onReply(pollNo, reply, clock.monotonicMs() - sentAtMs);
      if (!waits) return null;
      if (reply.assignments.length > 0 || parked.control.signal.aborted) return 0;
      // With an order outstanding the leader answers at once, every time.
      return sentAtMs + settings.pollPaceMs - clock.monotonicMs();
    } catch (error) {
      if (this.#life.signal.aborted) return 0;
      if (endsSession(error)) {
        onOver(error);
        return 0;
      }
      if (parked.control.signal.aborted) return 0;
      this.#sayRetried(error);
      return this.#backoff.nextMs();
    } finally {
      this.#parked = null;
      this.#cancelRenewal();
    }
  }

  #sayRetried(error: unknown): void {
    const { clock, say } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#saidAtMs < SAY_EVERY_MS) return;
    this.#saidAtMs = nowMs;
    say(`A poll failed and is retried: ${error instanceof Error ? error.message : 'unknown'}`);
  }
}

function wantedIn(room: number | null): number {
  return Math.min(TASKS_A_POLL, Math.max(0, room ?? 0));
}
