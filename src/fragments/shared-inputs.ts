/**
 * Outputs that every task of a stage reads in full: one copy on this node serves them all. It stays until
 * nobody needs the query any more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobId } from '../core/index.ts';
import type { PartRead } from '../query/index.ts';
import type { BroughtPart, OutputStore, PartReader } from '../shuffle/index.ts';

const NOTHING: BroughtPart = { files: [], fetchedBytes: 0, localBytes: 0 };

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
    let copying = copies.get(key);
    const isFirst = copying === undefined;
    if (copying === undefined) {
      copying = this.#copy(query, read, () => copies.delete(key));
      copies.set(key, copying);
      copying.catch(() => copies.delete(key));
    }
    const part = await this.#wait(await copying, signal);
    return isFirst
      ? part
      : { ...part, fetchedBytes: 0, localBytes: part.fetchedBytes + part.localBytes };
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
    const folder = await mkdtemp(join(await this.#store.place('shared'), 'in-'));
    const control = new AbortController();
    const part = this.#reader
      .bring(query, [read], folder, control.signal)
      .then(([brought]) => {
        copy.isHere = true;
        return brought ?? NOTHING;
      })
      .catch(async (error: unknown) => {
        // The next one who wants it tries anew.
        forget();
        await rm(folder, { recursive: true, force: true });
        throw error;
      });
    const copy: Copy = { folder, part, control, waiting: 0, isHere: false };
    part.catch(() => {});
    return copy;
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
