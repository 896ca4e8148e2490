/** How long handlers may go on after they were asked to stop. */
import type { MillraceError } from '../../scheduler/core/index.ts';
import type { TaskLog } from '../../tasks/executors/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Attempt } from './attempt.ts';
import { handlerStuck } from './session-error.ts';
import type { WorkerSettings } from './settings.ts';

export interface AbortGracesOptions {
  readonly clock: Clock;
  readonly settings: Pick<WorkerSettings, 'abortGraceMs'>;
  readonly stuck: 'end' | 'abandon';
  readonly onStuck: (error: MillraceError) => void;
  readonly log: TaskLog;
}

export class AbortGraces {
  readonly #options: AbortGracesOptions;
  readonly #timers: Map<Attempt, () => void> = new Map();

  constructor(options: AbortGracesOptions) {
    this.#options = options;
  }

  /** A slot that ignores its abort is lost, and in a process of its own only with all the others. */
  arm(attempt: Attempt): void {
    const { clock, settings, onStuck, stuck, log } = this.#options;
    const { abortGraceMs } = settings;
    const cancel = clock.after(abortGraceMs, () => {
      const error = handlerStuck(attempt.assignment, abortGraceMs, stuck);
      if (stuck === 'end') return onStuck(error);
      log.error(error.message);
      attempt.abandon();
    });
    this.#timers.set(attempt, cancel);
  }

  /** It has ended. */
  disarm(attempt: Attempt): void {
    if (this.#timers.size === 0) return;
    this.#timers.get(attempt)?.();
    this.#timers.delete(attempt);
  }
}
