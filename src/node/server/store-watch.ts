/** Checks every second whether the database answers, for readiness, health checks and logs. */
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import { type Clock, withDeadline } from '../../kit/index.ts';

export interface StoreWatchOptions {
  readonly clock: Clock;
  /** A cheap question that only a working database answers. */
  readonly ask: () => Promise<unknown>;
  /** Called on each change: what is wrong, or null when it answers again. */
  readonly onChange: (trouble: MillraceError | null) => void;
}

const EVERY_MS = 1_000;
/** A database that takes longer counts as unreachable. */
const LIMIT_MS = 3_000;

export class StoreWatch {
  readonly #options: StoreWatchOptions;
  #trouble: MillraceError | null = null;
  #cancel: () => void = () => {};
  #isStopped = false;

  constructor(options: StoreWatchOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#look().then((trouble) => {
      if (this.#isStopped) return;
      const hasChanged = (trouble === null) !== (this.#trouble === null);
      this.#trouble = trouble;
      if (hasChanged) this.#options.onChange(trouble);
      this.#cancel = this.#options.clock.after(EVERY_MS, () => this.start());
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  async #look(): Promise<MillraceError | null> {
    const { clock, ask } = this.#options;
    try {
      await withDeadline(clock, LIMIT_MS, ask(), silent);
      return null;
    } catch (error) {
      return isMillraceError(error) ? error : silent(error);
    }
  }
}

function silent(cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'store_unavailable',
    what: `The database did not answer within ${LIMIT_MS} ms.`,
    cause,
  });
}
