/**
 * Asks for work: one poll at a time, parked at the leader while there is none. The number of tasks that a
 * poll may bring is fixed when it is sent; when much more room is there later, it is renewed.
 */
import { deferred } from '../kit/index.ts';
import type { Clock } from '../kit/index.ts';
import type { PollReply } from '../protocol/index.ts';
import { BackOff, pause } from './pause.ts';
import { endsSession } from './session-error.ts';
import type { WorkerSettings } from './settings.ts';

export interface PollerOptions {
  readonly poll: (pollNo: number, capacity: number, signal: AbortSignal) => Promise<PollReply>;
  /** How many tasks there is room for right now. */
  readonly capacity: () => number;
  readonly onReply: (pollNo: number, reply: PollReply) => void;
  readonly onOver: (error: Error) => void;
  readonly quietMs: () => number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: WorkerSettings;
  readonly say: (line: string) => void;
}

interface Parked {
  readonly capacity: number;
  readonly sentAtMs: number;
  readonly control: AbortController;
  isRenewed: boolean;
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #life = new AbortController();
  readonly #backOff: BackOff;
  #pollNo = 0;
  #parked: Parked | null = null;
  #cancelRenewal: () => void = () => {};
  #wake: () => void = () => {};

  constructor(options: PollerOptions) {
    this.#options = options;
    const { retryMs, retryMaxMs } = options.settings;
    this.#backOff = new BackOff(retryMs, retryMaxMs, options.random);
  }

  /** Until it is stopped or the session is over. */
  async run(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      if (this.#options.capacity() <= 0) await this.#moreRoom();
      if (signal.aborted) return;
      // Also without room: orders come at once that way, and the leader sees when the process dies.
      const waitMs = await this.#pollOnce(Math.max(0, this.#options.capacity()));
      await pause(this.#options.clock, Math.max(waitMs, this.#options.quietMs()), signal);
    }
  }

  /** A parked poll is called back; what it brings all the same is still handed out. */
  stop(): void {
    this.#life.abort();
    this.#parked?.control.abort();
    this.#cancelRenewal();
    this.#wake();
  }

  /** Room may have become free. */
  roomChanged(): void {
    const capacity = this.#options.capacity();
    if (capacity <= 0) return;
    this.#wake();
    const parked = this.#parked;
    if (parked === null || parked.isRenewed || capacity < Math.max(1, parked.capacity * 2)) return;
    parked.isRenewed = true;
    const { clock, settings } = this.#options;
    const waitMs = parked.sentAtMs + settings.pollRenewMs - clock.monotonicMs();
    // A poll that is about to be answered is left alone.
    this.#cancelRenewal = clock.after(Math.max(0, waitMs), () => parked.control.abort());
  }

  /** Room comes back soon where tasks are short. */
  async #moreRoom(): Promise<void> {
    const woken = deferred();
    this.#wake = woken.resolve;
    const cancel = this.#options.clock.after(this.#options.settings.roomWaitMs, woken.resolve);
    await woken.promise;
    cancel();
  }

  /** Answers how long to wait before the next one. */
  async #pollOnce(capacity: number): Promise<number> {
    const { poll, clock, settings, onReply, onOver, say } = this.#options;
    const sentAtMs = clock.monotonicMs();
    const parked = { capacity, sentAtMs, control: new AbortController(), isRenewed: false };
    this.#parked = parked;
    this.#pollNo += 1;
    const pollNo = this.#pollNo;
    try {
      const reply = await poll(pollNo, capacity, parked.control.signal);
      this.#backOff.reset();
      onReply(pollNo, reply);
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
      say(`A poll failed and is repeated: ${error instanceof Error ? error.message : 'unknown'}`);
      return this.#backOff.nextMs();
    } finally {
      this.#parked = null;
      this.#cancelRenewal();
    }
  }
}
