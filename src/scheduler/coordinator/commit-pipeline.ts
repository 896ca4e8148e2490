/**
 * Batches on their way into the store, oldest first. The store makes them in this order, each only after those before it.
 * So what a batch has to say is said after what those before it had to say; and when one fails, those after it have
 * failed with it, whatever the store says of them.
 */
import type { MillraceError } from '../core/index.ts';
import type { CommitBatch } from './commit-batch.ts';
import { asFault } from './faults.ts';
import type { Afterwards } from './write-batch.ts';

/** A batch of so many bytes does not wait for the commit before it: a dozen small jobs, or a hundred reports. */
const WORTH_BYTES = 32 * 1024;

export interface PipelineOptions {
  /** How many may be under way. */
  readonly atOnce: number;
  readonly worthBytes?: number;
  readonly write: (batch: CommitBatch) => Promise<Afterwards>;
  readonly onWritten: (batch: CommitBatch) => void;
  /** None of these is durable, as far as is known, and no other one is under way. */
  readonly onFailed: (batches: readonly CommitBatch[], fault: MillraceError) => void;
}

export class CommitPipeline {
  readonly #options: PipelineOptions;
  readonly #batches: CommitBatch[] = [];
  /** What has failed, while others are under way. */
  #fault: MillraceError | null = null;
  #failed: CommitBatch[] = [];
  /** A commit, since the last batch was sent. */
  #hasReturned = false;
  #turn: Promise<void> = Promise.resolve();
  /** Of small events and of large submissions. */
  smallBytes = 0;
  largeBytes = 0;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** Newest first. */
  get batches(): readonly CommitBatch[] {
    return this.#batches.toReversed();
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** Behind others only if it is worth a commit of its own, or has waited for one. A large submission is alone: nothing waits
   * for more than one of them. */
  takes(batch: CommitBatch): boolean {
    if (this.#fault !== null) return false;
    if (this.isEmpty) return true;
    if (this.#batches.length >= this.#options.atOnce) return false;
    if (this.largeBytes > 0 || batch.largeBytes > 0) return false;
    return this.#hasReturned || batch.smallBytes >= (this.#options.worthBytes ?? WORTH_BYTES);
  }

  /** It would have taken a batch that has nothing for it. */
  passOver(): void {
    this.#hasReturned = false;
  }

  send(batch: CommitBatch): void {
    this.#hasReturned = false;
    this.#batches.push(batch);
    this.smallBytes += batch.smallBytes;
    this.largeBytes += batch.largeBytes;
    const written = this.#options.write(batch).then(
      (afterwards) => ({ afterwards }),
      (error: unknown) => ({ fault: asFault(error) }),
    );
    this.#turn = this.#turn.then(async () => this.#answered(batch, await written));
  }

  #answered(
    batch: CommitBatch,
    outcome: { readonly afterwards: Afterwards } | { readonly fault: MillraceError },
  ): void {
    this.#hasReturned = true;
    this.#batches.shift();
    this.smallBytes -= batch.smallBytes;
    this.largeBytes -= batch.largeBytes;
    if ('fault' in outcome) this.#fault ??= outcome.fault;
    if ('afterwards' in outcome && this.#fault === null) {
      outcome.afterwards();
      return this.#options.onWritten(batch);
    }
    this.#failed.push(batch);
    const [failed, fault] = [this.#failed, this.#fault];
    if (!this.isEmpty || fault === null) return;
    this.#failed = [];
    this.#fault = null;
    this.#options.onFailed(failed, fault);
  }
}
