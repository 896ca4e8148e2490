/**
 * Makes partitions readable as files on this node. Partitions on this worker are read in place, those in a visible
 * folder of another worker are linked, and all others are fetched. Every segment is verified first, wherever it is.
 */
import { setMaxListeners } from 'node:events';
import { linkSync } from 'node:fs';
import { link, rm } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { eachOf, LruCache } from '../../kit/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { checksumNow, checksumOf, stateNow, stateOf } from './checksum.ts';
import { Fetcher } from './fetcher.ts';
import type { FetcherOptions } from './fetcher.ts';
import { segmentFile } from './output-index.ts';
import type { OutputIndex, Segment } from './output-index.ts';
import type { OutputStore, RetainedOutput } from './output-store.ts';
import { PartitionLostError } from './partition-lost.ts';

export interface PartitionReaderOptions extends FetcherOptions {
  /** The outputs of this worker; null if there are none. */
  readonly own: OutputStore | null;
  /** Whether to read folders of other workers: where they share a disk, nothing has to be sent. */
  readonly mayReadInPlace: boolean;
}

export interface LocalPartition {
  /** In order; empty for an empty partition. */
  readonly files: readonly string[];
  /** The state of each file when it was verified. */
  readonly states: readonly string[];
  readonly fetchedBytes: number;
  readonly localBytes: number;
}

/** Producers read at the same time. */
const READS_AT_ONCE = 8;
/** Segments read at the same time, per producer. */
const SEGMENTS_AT_ONCE = 4;
const CHECKED_MAX = 20_000;

export class PartitionReader {
  readonly #options: PartitionReaderOptions;
  readonly #fetcher: Fetcher;
  /** The state of own files when they were verified, by path: a broadcast is read by many tasks. */
  readonly #checked = new LruCache<string, string>({ max: CHECKED_MAX });

  constructor(options: PartitionReaderOptions) {
    this.#options = options;
    this.#fetcher = new Fetcher(options);
  }

  /** See `Fetcher`. */
  get fetches(): Pick<Fetcher, 'measure' | 'recommend'> {
    return this.#fetcher;
  }

  /**
   * Returns one entry for each read. Files that are not here are put into `folder`, which the caller removes
   * afterwards; a function is called only if a folder is needed. Throws `PartitionLostError` for the first partition
   * that cannot be read; nothing is in flight then.
   */
  async localize(
    query: JobId,
    reads: readonly PartitionRead[],
    folder: string | (() => Promise<string>),
    signal: AbortSignal,
  ): Promise<readonly LocalPartition[]> {
    let asked: Promise<string> | null = null;
    const made = (): Promise<string> =>
      (asked ??= typeof folder === 'string' ? Promise.resolve(folder) : folder());
    const over = new AbortController();
    const all = AbortSignal.any([signal, over.signal]);
    // One listener for each read under way.
    setMaxListeners(0, all);
    return eachOf(reads, READS_AT_ONCE, signal, async (read, at) => {
      try {
        return await this.#one(query, read, () => pathsIn(made(), at), all);
      } catch (error) {
        // The other reads would be for nothing; aborting them does not count as a loss.
        over.abort(error);
        throw over.signal.reason;
      }
    });
  }

  async #one(
    query: JobId,
    read: PartitionRead,
    paths: () => Promise<PathOf>,
    signal: AbortSignal,
  ): Promise<LocalPartition> {
    const { at, part } = read;
    if (part.segments.length === 0) return NOTHING;
    const { own, mayReadInPlace } = this.#options;
    const retained = own?.find({ query, task: at.task, fence: at.fence }) ?? null;
    if (retained !== null && retained.hash === at.index) {
      const here = await this.#inPlace(read, retained, signal);
      return { ...here, fetchedBytes: 0, localBytes: part.bytes };
    }
    const pathOf = await paths();
    // Without a folder it is with a worker of another make.
    if (mayReadInPlace && at.folder !== '') {
      const linked = await this.#linked(read, pathOf, signal);
      if (linked !== null) return { ...linked, fetchedBytes: 0, localBytes: part.bytes };
    }
    const files = await this.#fetcher.fetch(query, read, pathOf, signal);
    const states = await Promise.all(files.map(stateOf));
    return { files, states, fetchedBytes: part.bytes, localBytes: 0 };
  }

  async #inPlace(
    read: PartitionRead,
    { folder, index, states: written }: RetainedOutput,
    signal: AbortSignal,
  ): Promise<Checked> {
    const segments = segmentsOf(read, index);
    const files = segments.map(({ file }) => join(folder, file));
    const states = await eachOf(segments, SEGMENTS_AT_ONCE, signal, async ({ file }, at) => {
      const path = join(folder, file);
      const known = this.#checked.get(path) ?? written.get(file);
      if (known !== undefined && known === stateNow(path)) return known;
      const state = await checkedSegment(read, at, path, { signal, isOwn: true });
      this.#checked.set(path, state);
      return state;
    });
    return { files, states };
  }

  /**
   * Returns null if the segments cannot be linked, because their folder is not visible here, or on another disk, or is just
   * being removed. A link stays readable when the other worker removes the file.
   */
  async #linked(read: PartitionRead, pathOf: PathOf, signal: AbortSignal): Promise<Checked | null> {
    const { at: place, partition, part } = read;
    const makeLink = this.#isNear(place.folder) ? linkSync : link;
    const files = part.segments.map((_, at) => pathOf(at));
    try {
      await eachOf(files, SEGMENTS_AT_ONCE, signal, async (file, at) =>
        makeLink(join(place.folder, segmentFile(partition, at)), file),
      );
    } catch {
      signal.throwIfAborted();
      await Promise.all(files.map((file) => rm(file, { force: true })));
      return null;
    }
    const isOwn = this.#options.own !== null;
    const states = await eachOf(files, SEGMENTS_AT_ONCE, signal, (path, at) =>
      checkedSegment(read, at, path, { signal, isOwn }),
    );
    return { files, states };
  }

  /** Whether the folder is that of this worker, or of one beside it: on the disk that this worker lives on anyway. */
  #isNear(folder: string): boolean {
    const { own } = this.#options;
    return own !== null && folder.startsWith(`${own.root}${sep}`) && resolve(folder) === folder;
  }
}

type PathOf = (segment: number) => string;

async function pathsIn(folder: Promise<string>, read: number): Promise<PathOf> {
  const made = await folder;
  return (segment) => join(made, `${read}-${segment}.parquet`);
}

/** Returns the state of the file if it is what its task has written. */
async function checkedSegment(
  { at, part }: PartitionRead,
  number: number,
  path: string,
  { signal, isOwn }: { readonly signal: AbortSignal; readonly isOwn: boolean },
): Promise<string> {
  const [bytes, crc32] = part.segments[number] ?? [];
  try {
    const found = (isOwn ? checksumNow(path) : null) ?? (await checksumOf(path, signal));
    if (found.bytes !== bytes) throw new PartitionLostError(at, `Segment ${number} is too short.`);
    if (found.crc32 !== crc32) {
      throw new PartitionLostError(at, `The checksum of segment ${number} is wrong.`);
    }
    return found.state;
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error)) throw error;
    throw new PartitionLostError(at, `Segment ${number} cannot be read.`, error);
  }
}

type Checked = Pick<LocalPartition, 'files' | 'states'>;

const NOTHING: LocalPartition = { files: [], states: [], fetchedBytes: 0, localBytes: 0 };

/** Whether the files are still the ones that were verified. They are all in the folder of this worker. */
export function isUnchanged({ files, states }: Checked): boolean {
  return states.every((state, at) => state === stateNow(files[at] ?? ''));
}

function segmentsOf(
  { at, partition, part }: PartitionRead,
  index: OutputIndex,
): readonly Segment[] {
  const segments = index.parts[partition]?.segments;
  if (segments === undefined) throw new PartitionLostError(at, `It has no partition ${partition}.`);
  const isSame = segments.every(({ bytes, crc32 }, number) => {
    const [ofBytes, ofCrc32] = part.segments[number] ?? [];
    return bytes === ofBytes && crc32 === ofCrc32;
  });
  if (isSame && segments.length === part.segments.length) return segments;
  throw new PartitionLostError(at, 'Its index differs from the report of its task.');
}
