/**
 * Outputs that every task of a stage reads in full: one copy on this node serves them all. It stays until
 * nobody needs the query any more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../core/index.ts';
import type { PartRead } from '../query/index.ts';
import { isUnchanged } from '../shuffle/index.ts';
import type { BroughtPart, OutputStore, PartReader } from '../shuffle/index.ts';

const NOTHING: BroughtPart = { files: [], states: [], fetchedBytes: 0, localBytes: 0 };

interface Copy {
  readonly folder: string;
  readonly part: Promise<BroughtPart>;
  /** Ends the fetch when the last who waits for it is gone. */
  readonly control: AbortController;
  waiting: number;
  isHere: boolean;
}

export class SharedInputs {
  readonly #store: OutputStore;
  readonly #reader: PartReader;
  readonly #queries: Map<JobId, Map<string, Promise<Copy>>> = new Map();

  constructor(store: OutputStore, reader: PartReader) {
    this.#store = store;
    this.#reader = reader;
  }

  get queries(): readonly JobId[] {
    return [...this.#queries.keys()];
  }

  /** Who comes first brings it. What was here already counts as neither fetched nor read from elsewhere. */
  async take(query: JobId, read: PartRead, signal: AbortSignal): Promise<BroughtPart> {
    signal.throwIfAborted();
    if (read.part.segments.length === 0) return NOTHING;
    const copies = this.#queries.get(query) ?? new Map<string, Promise<Copy>>();
    this.#queries.set(query, copies);
    const key = `${read.at.task}/${read.at.fence}/${read.partition}`;
    const known = copies.get(key);
    if (known !== undefined) {
      const part = await this.#reused(await known, signal);
      if (part !== null) {
        return { ...part, fetchedBytes: 0, localBytes: part.fetchedBytes + part.localBytes };
      }
      // Whoever else has found that out may have another one under way.
      if (copies.get(key) === known) copies.delete(key);
      return this.take(query, read, signal);
    }
    const copying = this.#copy(query, read, () => {
      if (copies.get(key) === copying) copies.delete(key);
    });
    copies.set(key, copying);
    return this.#wait(await copying, signal);
  }

  async drop(query: JobId): Promise<void> {
    const copies = [...(this.#queries.get(query)?.values() ?? [])];
    this.#queries.delete(query);
    for (const copying of copies) {
      const copy = await copying.catch(() => null);
      copy?.control.abort(new Error('nobody needs it any more'));
      await copy?.part.catch(() => {});
      if (copy !== null) await rm(copy.folder, { recursive: true, force: true });
    }
  }

  async #copy(query: JobId, read: PartRead, forget: () => void): Promise<Copy> {
    const folder = await this.#folder().catch((error: unknown) => {
      forget();
      throw error;
    });
    const control = new AbortController();
    // The next one who wants it tries anew, and does not wait for one that is given up.
    control.signal.addEventListener('abort', forget, { once: true });
    const part = this.#reader
      .bring(query, [read], folder, control.signal)
      .then(([brought]) => {
        copy.isHere = true;
        return brought ?? NOTHING;
      })
      .catch(async (error: unknown) => {
        forget();
        await rm(folder, { recursive: true, force: true });
        throw error;
      });
    const copy: Copy = { folder, part, control, waiting: 0, isHere: false };
    part.catch(() => {});
    return copy;
  }

  /** Null when it is of no use any more: given up, or changed by somebody. */
  async #reused(copy: Copy, signal: AbortSignal): Promise<BroughtPart | null> {
    if (copy.control.signal.aborted) return null;
    const part = await this.#wait(copy, signal);
    if (await isUnchanged(part)) return part;
    await rm(copy.folder, { recursive: true, force: true });
    return null;
  }

  async #folder(): Promise<string> {
    return mkdtemp(join(await this.#store.place('shared'), 'in-'));
  }

  async #wait(copy: Copy, signal: AbortSignal): Promise<BroughtPart> {
    if (copy.isHere) return copy.part;
    copy.waiting += 1;
    let leave = (): void => {};
    try {
      return await new Promise<BroughtPart>((resolve, reject) => {
        // Whoever aborts says why, as a MillraceError.
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
