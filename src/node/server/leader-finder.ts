import type { Settings } from '../../scheduler/core/index.ts';
import type { LeaderGateway } from '../../scheduler/coordinator/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { LeaderInfo } from '../../scheduler/store/index.ts';

export interface LeaderFinderOptions {
  readonly clock: Clock;
  readonly settings: Settings;
  readonly gateway: LeaderGateway;
  /** Who leads, as the database or an observer knows it. */
  readonly ask: () => Promise<Omit<LeaderInfo, 'term' | 'expiresAt'> | null>;
}

/** For a node that is not a candidate: keeps its gateway pointing to the leader. */
export class LeaderFinder {
  readonly #options: LeaderFinderOptions;
  #cancel: () => void = () => {};
  #isStopped = false;
  #onFound: () => void = () => {};
  /** Settles when a leader was seen for the first time. */
  readonly found: Promise<void>;

  constructor(options: LeaderFinderOptions) {
    this.#options = options;
    this.found = new Promise((resolve) => {
      this.#onFound = resolve;
    });
  }

  start(): void {
    this.#look().then(
      () => this.#again(),
      () => this.#again(),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** While no node can be asked the last answer stands: the leader may be well. */
  async #look(): Promise<void> {
    const leader = await this.#options.ask();
    if (this.#isStopped) return;
    this.#options.gateway.refer(leader);
    if (leader !== null) this.#onFound();
  }

  #again(): void {
    if (this.#isStopped) return;
    const { clock, settings } = this.#options;
    const everyMs = Math.max(50, Math.floor(settings.leaderRenewMs / 3));
    this.#cancel = clock.after(everyMs, () => this.start());
  }
}
