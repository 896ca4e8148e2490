/**
 * Makes partitions readable as files on this node: those that lie here are read in place, those that lie in a
 * folder of another worker that is visible here are linked, all others are fetched. Every segment is
 * checked before it is handed out, wherever it lies.
 */
import { setMaxListeners } from 'node:events';
import { link, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMillraceError } from '../core/index.ts';
import type { JobId } from '../core/index.ts';
import { eachOf } from '../kit/index.ts';
import type { PartRead } from '../query/index.ts';
import { checksumOf } from './checksum.ts';
import { Fetcher } from './fetcher.ts';
import type { FetcherOptions } from './fetcher.ts';
import { readIndex } from './output-index.ts';
import type { OutputIndex, Segment } from './output-index.ts';
import type { OutputStore } from './output-store.ts';
import { PartLostError } from './part-lost.ts';

export interface PartReaderOptions extends FetcherOptions {
  /** The outputs of this worker; null where there are none. */
  readonly own: OutputStore | null;
  /** Whether folders of other workers are looked at: where they share a disk, nothing has to be sent. */
  readonly mayReadInPlace: boolean;
}

export interface BroughtPart {
  /** In order; none for an empty partition. */
  readonly files: readonly string[];
  /** How each of them was when it was found right. */
  readonly states: readonly string[];
  readonly fetchedBytes: number;
  readonly localBytes: number;
}

/** Producers that are read from at the same time. */
const READS_AT_ONCE = 8;
const CHECKED_MAX = 20_000;

export class PartReader {
  readonly #options: PartReaderOptions;
  readonly #fetcher: Fetcher;
  /** Own files that were found right, by path and state: a broadcast is read by many tasks. */
  readonly #checked: Set<string> = new Set();

  constructor(options: PartReaderOptions) {
    this.#options = options;
    this.#fetcher = new Fetcher(options);
  }

  /**
   * One answer for each read. What does not lie here is put into `folder`, which the caller removes when it
   * has read it. Throws `PartLostError` for the first that cannot be had; then nothing is under way any more.
   */
  async bring(
    query: JobId,
    reads: readonly PartRead[],
    folder: string,
    signal: AbortSignal,
  ): Promise<readonly BroughtPart[]> {
    const over = new AbortController();
    const all = AbortSignal.any([signal, over.signal]);
    // One for each read that is under way.
    setMaxListeners(0, all);
    return eachOf(reads, READS_AT_ONCE, signal, async (read, at) => {
      try {
        const pathOf = (segment: number): string => join(folder, `${at}-${segment}.parquet`);
        return await this.#one(query, read, pathOf, all);
      } catch (error) {
        // What else is under way would be brought for nothing; its end is no loss of its own.
        over.abort(error);
        throw over.signal.reason;
      }
    });
  }

  async #one(
    query: JobId,
    read: PartRead,
    pathOf: (segment: number) => string,
    signal: AbortSignal,
  ): Promise<BroughtPart> {
    const { at, part } = read;
    if (part.segments.length === 0) return NOTHING;
    const { own, mayReadInPlace } = this.#options;
    const kept = own?.find({ query, task: at.task, fence: at.fence }) ?? null;
    if (kept !== null && kept.hash === at.index) {
      const here = await this.#inPlace(read, kept.folder, kept.index, signal);
      return { ...here, fetchedBytes: 0, localBytes: part.bytes };
    }
    if (mayReadInPlace) {
      const index = await readIndex(at.folder, at.index);
      const linked = index === null ? null : await this.#linked(read, index, pathOf, signal);
      if (linked !== null) return { ...linked, fetchedBytes: 0, localBytes: part.bytes };
    }
    const files = await this.#fetcher.fetch(query, read, pathOf, signal);
    const states = await Promise.all(files.map(stateOf));
    return { files, states, fetchedBytes: part.bytes, localBytes: 0 };
  }

  async #inPlace(
    read: PartRead,
    folder: string,
    index: OutputIndex,
    signal: AbortSignal,
  ): Promise<Checked> {
    const found: CheckedFiles = { files: [], states: [] };
    for (const [at, segment] of segmentsOf(read, index).entries()) {
      const path = join(folder, segment.file);
      found.states.push(await this.#check(read, at, path, segment, signal));
      found.files.push(path);
    }
    return found;
  }

  /** Null when it cannot be linked, because it lies on another disk or goes away just now. A link stays
   * readable when the other worker removes the file. */
  async #linked(
    read: PartRead,
    index: OutputIndex,
    pathOf: (segment: number) => string,
    signal: AbortSignal,
  ): Promise<Checked | null> {
    const found: CheckedFiles = { files: [], states: [] };
    for (const [at, segment] of segmentsOf(read, index).entries()) {
      const path = pathOf(at);
      try {
        await link(join(read.at.folder, segment.file), path);
      } catch {
        await Promise.all(found.files.map((file) => rm(file, { force: true })));
        return null;
      }
      found.states.push(await this.#check(read, at, path, segment, signal));
      found.files.push(path);
    }
    return found;
  }

  /** Answers how the file is. */
  async #check(
    { at, part }: PartRead,
    number: number,
    path: string,
    segment: Segment,
    signal: AbortSignal,
  ): Promise<string> {
    const [bytes, crc32] = part.segments[number] ?? [];
    if (segment.bytes !== bytes || segment.crc32 !== crc32) {
      throw new PartLostError(at, 'Its index says something else than its task did.');
    }
    try {
      const state = await stateOf(path);
      if (this.#checked.has(state)) return state;
      const found = await checksumOf(path, signal);
      if (found.bytes !== bytes) throw new PartLostError(at, `Segment ${number} is too short.`);
      if (found.crc32 !== crc32) {
        throw new PartLostError(at, `The checksum of segment ${number} is wrong.`);
      }
      if (this.#checked.size >= CHECKED_MAX) this.#checked.clear();
      this.#checked.add(state);
      return state;
    } catch (error) {
      signal.throwIfAborted();
      if (isMillraceError(error)) throw error;
      throw new PartLostError(at, `Segment ${number} cannot be read.`, error);
    }
  }
}

interface CheckedFiles {
  readonly files: string[];
  readonly states: string[];
}

type Checked = Pick<BroughtPart, 'files' | 'states'>;

const NOTHING: BroughtPart = { files: [], states: [], fetchedBytes: 0, localBytes: 0 };

/** Whether its files are those that were brought: what somebody has changed since is something else. */
export async function isUnchanged({ files, states }: Checked): Promise<boolean> {
  const now = await Promise.all(files.map((file) => stateOf(file).catch(() => null)));
  return states.every((state, at) => state === now[at]);
}

/** Another one whenever somebody writes to the file or puts another one in its place. */
async function stateOf(path: string): Promise<string> {
  const { size, mtimeNs, ino } = await stat(path, { bigint: true });
  return `${path} ${ino} ${size} ${mtimeNs}`;
}

function segmentsOf({ at, partition }: PartRead, index: OutputIndex): readonly Segment[] {
  const part = index.parts[partition];
  if (part === undefined) throw new PartLostError(at, `It has no partition ${partition}.`);
  return part.segments;
}
