/**
 * Broadcast inputs: one copy on this node serves all tasks that read the same output. It is kept until the query is
 * dropped.
 */
import { rm } from 'node:fs/promises';
import type { JobId } from '../../scheduler/core/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { isUnchanged } from '../shuffle/index.ts';
import type { LocalPartition, OutputStore, PartitionReader } from '../shuffle/index.ts';

const NOTHING: LocalPartition = { files: [], states: [], fetchedBytes: 0, localBytes: 0 };

interface Copy {
  /** Removes the copied files, if any. */
  readonly remove: () => Promise<void>;
  readonly part: Promise<LocalPartition>;
  /** Aborts the fetch when nobody waits for it any more. */
  readonly control: AbortController;
  waiting: number;
  isHere: boolean;
}

export class SharedInputs {
  readonly #store: OutputStore;
  readonly #reader: PartitionReader;
  readonly #queries: Map<JobId, Map<string, Copy>> = new Map();

  constructor(store: OutputStore, reader: PartitionReader) {
    this.#store = store;
    this.#reader = reader;
  }

  get queries(): readonly JobId[] {
    return [...this.#queries.keys()];
  }

  /** The first caller fetches it. For later callers it counts as local. */
  async take(query: JobId, read: PartitionRead, signal: AbortSignal): Promise<LocalPartition> {
    signal.throwIfAborted();
    if (read.part.segments.length === 0) return NOTHING;
    const copies = this.#queries.get(query) ?? new Map<string, Copy>();
    this.#queries.set(query, copies);
    const key = `${read.at.task}/${read.at.fence}/${read.partition}`;
    const known = copies.get(key);
    if (known !== undefined) {
      const part = await this.#reused(known, signal);
      if (part !== null) {
        return { ...part, fetchedBytes: 0, localBytes: part.fetchedBytes + part.localBytes };
      }
      // Another caller may have replaced it already.
      if (copies.get(key) === known) copies.delete(key);
      return this.take(query, read, signal);
    }
    const copy = this.#copy(query, read, () => {
      if (copies.get(key) === copy) copies.delete(key);
    });
    copies.set(key, copy);
    return this.#wait(copy, signal);
  }

  async drop(query: JobId): Promise<void> {
    const copies = [...(this.#queries.get(query)?.values() ?? [])];
    this.#queries.delete(query);
    for (const { control, part, remove } of copies) {
      control.abort(new Error('nobody needs it any more'));
      await part.catch(() => {});
      await remove();
    }
  }

  #copy(query: JobId, read: PartitionRead, forget: () => void): Copy {
    let folder: string | null = null;
    const made = async (): Promise<string> => (folder = await this.#store.scratch('in-', 'shared'));
    const remove = async (): Promise<void> => {
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    };
    const control = new AbortController();
    // The next caller fetches again instead of waiting for an aborted fetch.
    control.signal.addEventListener('abort', forget, { once: true });
    const part = this.#reader
      .localize(query, [read], made, control.signal)
      .then(([fetched]) => {
        copy.isHere = true;
        return fetched ?? NOTHING;
      })
      .catch(async (error: unknown) => {
        forget();
        await remove();
        throw error;
      });
    const copy: Copy = { remove, part, control, waiting: 0, isHere: false };
    part.catch(() => {});
    return copy;
  }

  /** Returns null if the copy cannot be used any more: aborted, or changed on disk. */
  async #reused(copy: Copy, signal: AbortSignal): Promise<LocalPartition | null> {
    if (copy.control.signal.aborted) return null;
    const part = await this.#wait(copy, signal);
    if (isUnchanged(part)) return part;
    await copy.remove();
    return null;
  }

  async #wait(copy: Copy, signal: AbortSignal): Promise<LocalPartition> {
    if (copy.isHere) return copy.part;
    copy.waiting += 1;
    let leave = (): void => {};
    try {
      return await new Promise<LocalPartition>((resolve, reject) => {
        // The reason of an abort is a MillraceError.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        leave = (): void => reject(signal.reason);
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        copy.part.then(resolve, reject);
      });
    } finally {
      signal.removeEventListener('abort', leave);
      copy.waiting -= 1;
      if (copy.waiting === 0 && !copy.isHere) copy.control.abort(new Error('nobody waits for it'));
    }
  }
}
