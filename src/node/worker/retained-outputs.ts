/** The outputs of queries that this worker retains for readers. It asks the leader from time to time which of them are
 * not needed any more, and before it leaves it waits for those that are. */
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred, sleepOrAbort } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { WorkerService, Session } from '../../scheduler/contract/index.ts';

/** What keeps them. */
export interface Outputs {
  /** Queries of which there is something here. */
  queries(kind?: 'inner' | 'result'): readonly JobId[];
  drop(query: JobId, kind?: 'inner' | 'result'): Promise<void>;
}

export interface RetainedOutputsOptions {
  readonly outputs: Outputs;
  readonly leader: Pick<WorkerService, 'unneeded'>;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  /** How often the leader is asked. */
  readonly askMs: number;
}

/** A worker that wants to leave asks more often. */
const LEAVE_ASK_MS = 250;

export class RetainedOutputs {
  readonly #options: RetainedOutputsOptions;
  #session: Session | null = null;
  #cancel: () => void = () => {};
  #asking: Promise<void> = Promise.resolve();

  constructor(options: RetainedOutputsOptions) {
    this.#options = options;
  }

  /** The session that lives now; null while there is none. */
  showSession(session: Session | null): void {
    this.#session = session;
    this.#cancel();
    if (session !== null) this.#askLater();
  }

  /** Resolves when nothing here is needed, or the signal aborts. Outputs for readers of results are not waited for:
   * that would take hours. */
  async released(session: Session, signal: AbortSignal): Promise<void> {
    const { outputs, leader, clock } = this.#options;
    for (;;) {
      const queries = outputs.queries();
      if (queries.length === 0 || signal.aborted) return;
      try {
        const over = new Set(
          await unlessAborted(leader.unneeded(session, queries, 'inner'), signal),
        );
        if (queries.every((query) => over.has(query))) return;
      } catch {
        // There is no leader just now, or the time has passed: the next check decides.
      }
      await sleepOrAbort(clock, LEAVE_ASK_MS, signal);
    }
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.showSession(null);
    await this.#asking;
  }

  #askLater(): void {
    this.#cancel = this.#options.clock.after(this.#options.askMs, () => {
      const session = this.#session;
      if (session === null) return;
      this.#asking = this.#ask(session).finally(() => {
        if (this.#session === session) this.#askLater();
      });
    });
  }

  async #ask(session: Session): Promise<void> {
    const { outputs, say } = this.#options;
    try {
      await this.#dropUnneeded(session, outputs.queries());
      await this.#dropUnneeded(session, outputs.queries('inner'), 'inner');
    } catch (error) {
      // It is asked again.
      const text = error instanceof Error ? error.message : String(error);
      say(`Query outputs are kept for now: ${text}`);
    }
  }

  async #dropUnneeded(session: Session, queries: readonly JobId[], kind?: 'inner'): Promise<void> {
    if (queries.length === 0) return;
    const { outputs, leader } = this.#options;
    for (const query of await leader.unneeded(session, queries, kind)) {
      await outputs.drop(query, kind);
    }
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = deferred<never>();
  const abort = (): void => aborted.reject(new Error('aborted'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (signal.aborted) abort();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    aborted.promise.catch(() => {});
  }
}
