/**
 * The outputs that this worker retains. A task writes into a draft; committing it renames the folder, so an output exists
 * completely or not at all. Nothing survives the process: outputs of a process that has
 * ended are recomputed.
 */
import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { type Clock, PRIVATE_FOLDER, eachOf, systemClock } from '../../kit/index.ts';
import type { MapOutputKey } from '../../scheduler/contract/index.ts';
import type { PartitionInfo } from '../plan/index.ts';
import { checksumOf } from './checksum.ts';
import type { Checksum } from './checksum.ts';
import { checkedName, folderOf, nameOf, textOf } from './output-name.ts';
import type { OutputName } from './output-name.ts';
import { bytesOf, hashOf, indexOf, partitionInfo, segmentFile } from './output-index.ts';
import type { OutputIndex, Segment } from './output-index.ts';
import { TOUCH_MS, makeOwnFolder, sweep, touchOwner } from './owner.ts';

export interface OutputStoreOptions {
  /** The worker's data folder. Nothing is created in it before there is something to store. */
  readonly folder: string;
  /** The folder below it that has everything of this store; `shuffle` unless given. */
  readonly name?: 'shuffle' | 'spill';
  /** Whether to remove the folder itself once it is empty. */
  readonly isTemporary?: boolean;
  readonly clock?: Clock;
}

/** What a task has written: the files of each partition, in order and named by it, see `segmentFile`. */
export interface DraftPartition {
  readonly rows: number;
  readonly files: readonly string[];
}

/** Checksums of files that their writer has already computed, by name. */
export type FileSums = Readonly<Record<string, Checksum>>;

export interface OutputDraft {
  /** An empty folder for this draft alone. */
  readonly folder: string;
  /** A `result` is for the client, and retained longer than outputs between stages (`inner`). */
  commit(
    parts: readonly DraftPartition[],
    kind: OutputKind,
    signal?: AbortSignal,
    sums?: FileSums,
  ): Promise<RetainedOutput>;
  /** Removes the draft; does nothing once it is committed. */
  discard(): Promise<void>;
}

export type OutputKind = 'inner' | 'result';

export interface RetainedOutput {
  readonly folder: string;
  readonly index: OutputIndex;
  /** The hash of its index. */
  readonly hash: string;
  readonly kind: OutputKind;
  readonly parts: readonly PartitionInfo[];
  /** The state of files when their checksums were computed here, by name. */
  readonly states: FileStates;
}

type FileStates = ReadonlyMap<string, string>;

const CHECKS_AT_ONCE = 4;

export class OutputStore {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #isTemporary: boolean;
  readonly #retained: Map<JobId, Map<string, RetainedOutput>> = new Map();
  readonly #afterwards = new Set<Promise<void>>();
  #own: Promise<string> | null = null;
  #bytes = 0;
  #cancelTouch: () => void = () => {};
  #isClosed = false;

  private constructor(options: OutputStoreOptions) {
    const { folder, name = 'shuffle', isTemporary = false, clock = systemClock } = options;
    this.#root = join(resolve(folder), name);
    this.#clock = clock;
    this.#isTemporary = isTemporary;
  }

  /** Opens the store, and removes what ended processes have left there. */
  static async open(options: OutputStoreOptions): Promise<OutputStore> {
    const store = new OutputStore(options);
    await sweep(store.#root);
    return store;
  }

  /** The folder that contains everything in this store. */
  get root(): string {
    return this.#root;
  }

  /** On disk, without drafts. */
  get usage(): { readonly outputs: number; readonly bytes: number } {
    let outputs = 0;
    for (const retained of this.#retained.values()) outputs += retained.size;
    return { outputs, bytes: this.#bytes };
  }

  /** Queries that have outputs here. */
  queries(kind?: OutputKind): readonly JobId[] {
    return [...this.#retained].flatMap(([query, retained]) =>
      kind === undefined || [...retained.values()].some((each) => each.kind === kind)
        ? [query]
        : [],
    );
  }

  find(name: OutputName): RetainedOutput | null {
    return this.#retained.get(name.query)?.get(textOf(name)) ?? null;
  }

  /** By fence, or without one the newest output of the attempt. */
  findKey(key: MapOutputKey): RetainedOutput | null {
    const name = nameOf(key);
    if (key.fence !== 0) return this.find(name);
    const ofAttempt = [...(this.#retained.get(key.query)?.values() ?? [])].filter(
      ({ index }) => index.task === name.task && index.attempt === key.attempt,
    );
    return ofAttempt.toSorted((a, b) => b.index.fence - a.index.fence)[0] ?? null;
  }

  async begin(given: OutputName): Promise<OutputDraft> {
    const name = checkedName(given);
    const folder = await this.scratch('draft-');
    let isOver = false;
    return {
      folder,
      commit: async (parts, kind, signal, sums = {}) => {
        const states = new Map<string, string>();
        const index = await indexed(name, folder, parts, { signal, sums, states });
        const retained = await this.#commit(index, folder, kind, { signal, states });
        isOver = true;
        return retained;
      },
      discard: async () => {
        if (isOver) return;
        isOver = true;
        await remove(folder);
      },
    };
  }

  /** Creates an empty folder on the same disk. The caller removes it. */
  async scratch(prefix: string, among: 'tmp' | 'shared' = 'tmp'): Promise<string> {
    const own = await this.#ownFolder();
    const folder = join(own, among);
    try {
      return mkdtempSync(join(folder, prefix));
    } catch {
      await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
      return mkdtempSync(join(folder, prefix));
    }
  }

  /** A folder that lasts as long as this store. */
  async place(name: 'spill'): Promise<string> {
    const folder = join(await this.#ownFolder(), name);
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    return folder;
  }

  /** Registers removals that nobody but `close` waits for. */
  afterwards(work: Promise<void>): void {
    const over = work.catch(() => {}).finally(() => this.#afterwards.delete(over));
    this.#afterwards.add(over);
  }

  /** Resolves when the removals under way are done. */
  async tidied(): Promise<void> {
    await Promise.all(this.#afterwards);
  }

  /** Removes the outputs of a query: with `inner` only those between stages. */
  async drop(query: JobId, kind?: OutputKind): Promise<void> {
    const retained = this.#retained.get(query);
    if (retained === undefined) return;
    const going = [...retained].filter(([, each]) => kind === undefined || each.kind === kind);
    for (const [text, output] of going) {
      retained.delete(text);
      this.#bytes -= bytesIn(output.index);
    }
    if (retained.size === 0) this.#retained.delete(query);
    for (const [, { folder }] of going) await remove(folder);
  }

  /** Removes the output of one attempt, if it is here. */
  async discard(name: OutputName): Promise<void> {
    const retained = this.#retained.get(name.query);
    const output = retained?.get(textOf(name));
    if (retained === undefined || output === undefined) return;
    retained.delete(textOf(name));
    if (retained.size === 0) this.#retained.delete(name.query);
    this.#bytes -= bytesIn(output.index);
    await remove(output.folder);
  }

  /** Removes everything. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTouch();
    this.#retained.clear();
    await this.tidied();
    const own = await this.#own?.catch(() => null);
    if (own !== undefined && own !== null) {
      await remove(own);
      await removeEmpty(this.#root);
    }
    if (this.#isTemporary) await removeEmpty(dirname(this.#root));
  }

  async #commit(
    index: OutputIndex,
    draft: string,
    kind: OutputKind,
    { signal, states }: { readonly signal: AbortSignal | undefined; readonly states: FileStates },
  ): Promise<RetainedOutput> {
    const hash = hashOf(index);
    const folder = folderOf(join(await this.#ownFolder(), 'outputs'), index);
    signal?.throwIfAborted();
    try {
      putInPlace(draft, folder);
    } catch (error) {
      throw ['ENOTEMPTY', 'EEXIST'].includes(String(codeOf(error))) ? twice(index, error) : error;
    }
    const retained: RetainedOutput = {
      folder,
      index,
      hash,
      kind,
      parts: index.parts.map(partitionInfo),
      states,
    };
    this.#keep(retained);
    return retained;
  }

  #keep(output: RetainedOutput): void {
    const { index } = output;
    const retained = this.#retained.get(index.query) ?? new Map<string, RetainedOutput>();
    this.#retained.set(index.query, retained);
    retained.set(textOf(index), output);
    this.#bytes += bytesIn(index);
  }

  #ownFolder(): Promise<string> {
    if (this.#isClosed) {
      const error = new MillraceError({
        code: 'shutting_down',
        what: 'The output store is closed.',
      });
      return Promise.reject(error);
    }
    this.#own ??= makeOwnFolder(this.#root).then((folder) => {
      this.#touchLater(folder);
      return folder;
    });
    this.#own.catch(() => (this.#own = null));
    return this.#own;
  }

  #touchLater(folder: string): void {
    if (this.#isClosed) return;
    this.#cancelTouch = this.#clock.after(TOUCH_MS, () => {
      void touchOwner(folder).catch(() => {});
      this.#touchLater(folder);
    });
  }
}

interface Indexing {
  readonly signal: AbortSignal | undefined;
  readonly sums: FileSums;
  /** Filled with those of files that are read. */
  readonly states: Map<string, string>;
}

async function indexed(
  name: OutputName,
  draft: string,
  parts: readonly DraftPartition[],
  { signal, sums, states }: Indexing,
): Promise<OutputIndex> {
  const files = parts.flatMap((part, partition) =>
    part.files.map((file, segment) => checkedFile(file, segmentFile(partition, segment))),
  );
  const segments = await eachOf(files, CHECKS_AT_ONCE, signal, async (file): Promise<Segment> => {
    const known = sums[file];
    if (known !== undefined) return { file, bytes: known.bytes, crc32: known.crc32 };
    const { bytes, crc32, state } = await checksumOf(join(draft, file), signal);
    states.set(file, state);
    return { file, bytes, crc32 };
  });
  let next = 0;
  return indexOf(
    name,
    parts.map(({ rows, files: own }) => {
      next += own.length;
      return { rows, segments: segments.slice(next - own.length, next) };
    }),
  );
}

function bytesIn(index: OutputIndex): number {
  return index.parts.reduce((sum, { segments }) => sum + bytesOf(segments), 0);
}

function checkedFile(file: string, expected: string): string {
  if (file === expected) return file;
  const what = `A segment was written to ${file} instead of ${expected}.`;
  throw new MillraceError({ code: 'invariant', what });
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 2 });
}

/** Removes the folder if it is empty. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}

function twice(name: OutputName, cause: unknown): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `The output ${textOf(name)} exists already.`,
    why: 'An attempt can be committed only once.',
    cause,
  });
}

/** Creates the parent folder for the first output. */
function putInPlace(draft: string, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(folder), { recursive: true, mode: PRIVATE_FOLDER });
    renameSync(draft, folder);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
