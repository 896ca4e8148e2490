/**
 * Partitions that are fetched before the task that reads them is given out, while its other producers still run. It takes
 * no slot, and nothing waits for it: what is not here, or cannot be fetched, the task fetches itself.
 */
import { rm } from 'node:fs/promises';
import type { JobId } from '../../scheduler/core/index.ts';
import { eachOf } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import type { LocalPartition, OutputStore, PartitionReader } from '../shuffle/index.ts';

export interface EarlyInputsOptions {
  readonly store: Pick<OutputStore, 'scratch'>;
  readonly reader: Pick<PartitionReader, 'localize'>;
  /** Whether the disk has room for more. */
  readonly hasRoom: () => boolean;
  readonly bytesMax?: number;
}

/** What the partitions here, and those on their way, may take. */
const BYTES_MAX: number = 256 * 2 ** 20;
/** Fetched at the same time: tasks that run have more to do with the network. */
const FETCHES = 2;

/** A partition that was fetched for a task. */
export interface EarlyInput {
  readonly part: LocalPartition;
  /** Removes the copy. */
  readonly remove: () => Promise<void>;
}

interface Copy {
  readonly bytes: number;
  readonly control: AbortController;
  /** Null if it could not be fetched; nothing is left of it then. */
  readonly input: Promise<EarlyInput | null>;
}

export class EarlyInputs {
  readonly #options: EarlyInputsOptions;
  readonly #queries: Map<JobId, Map<string, Copy>> = new Map();
  #bytes = 0;
  #isClosed = false;

  constructor(options: EarlyInputsOptions) {
    this.#options = options;
  }

  get queries(): readonly JobId[] {
    return [...this.#queries.keys()];
  }

  /** Of what is here and not taken yet, and of what is on its way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins to fetch what there is room for. Resolves when that is here, or was given up. */
  async fetch(query: JobId, reads: readonly PartitionRead[]): Promise<void> {
    await eachOf(reads, FETCHES, undefined, (read) => this.#begin(query, read));
  }

  /**
   * The partition, if it was asked for before: then it belongs to the caller, who removes it. Null if it was not, or could
   * not be fetched.
   */
  async take(query: JobId, read: PartitionRead, signal: AbortSignal): Promise<EarlyInput | null> {
    const copies = this.#queries.get(query);
    const key = keyOf(read);
    const copy = copies?.get(key);
    if (copies === undefined || copy === undefined) return null;
    copies.delete(key);
    if (copies.size === 0) this.#queries.delete(query);
    const stop = (): void => copy.control.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      return await copy.input;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#bytes -= copy.bytes;
    }
  }

  /** Nobody will read anything of this query any more. */
  async drop(query: JobId): Promise<void> {
    const copies = [...(this.#queries.get(query)?.values() ?? [])];
    this.#queries.delete(query);
    for (const { control, input, bytes } of copies) {
      control.abort(new Error('nobody needs it any more'));
      await (await input)?.remove().catch(() => {});
      this.#bytes -= bytes;
    }
  }

  /** Ends what is on its way, and begins nothing more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const query of this.queries) await this.drop(query);
  }

  async #begin(query: JobId, read: PartitionRead): Promise<void> {
    const { hasRoom, bytesMax = BYTES_MAX } = this.#options;
    const { bytes } = read.part;
    const copies = this.#queries.get(query) ?? new Map<string, Copy>();
    const key = keyOf(read);
    if (this.#isClosed || copies.has(key) || this.#bytes + bytes > bytesMax || !hasRoom()) return;
    this.#queries.set(query, copies);
    const control = new AbortController();
    const input = this.#fetched(query, read, control.signal);
    this.#bytes += bytes;
    copies.set(key, { bytes, control, input });
    await input;
  }

  async #fetched(
    query: JobId,
    read: PartitionRead,
    signal: AbortSignal,
  ): Promise<EarlyInput | null> {
    const { store, reader } = this.#options;
    let folder: string | null = null;
    const remove = async (): Promise<void> => {
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    };
    try {
      const made = async (): Promise<string> => (folder = await store.scratch('in-', 'shared'));
      const [part] = await reader.localize(query, [read], made, signal);
      if (part !== undefined && !signal.aborted) return { part, remove };
    } catch {
      // The task that needs it finds out why, if it still cannot be fetched then.
    }
    // What cannot be removed now is removed with the store.
    await remove().catch(() => {});
    return null;
  }
}

/** One attempt of one task, and one of its partitions. */
function keyOf({ at, partition }: PartitionRead): string {
  return `${at.task}/${at.fence}/${at.index}/${partition}`;
}
