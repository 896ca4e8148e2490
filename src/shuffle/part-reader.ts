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
import type { PartRead } from '../query/index.ts';
import { checksumOf, eachOf } from './checksum.ts';
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
    let first: unknown;
    const brought = await eachOf(reads, READS_AT_ONCE, async (read, at) => {
      try {
        all.throwIfAborted();
        const pathOf = (segment: number): string => join(folder, `${at}-${segment}.parquet`);
        return await this.#one(query, read, pathOf, all);
      } catch (error) {
        first ??= error;
        over.abort(error);
        return NOTHING;
      }
    });
    signal.throwIfAborted();
    if (first !== undefined) throw asError(first);
    return brought;
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
      const files = await this.#inPlace(read, kept.folder, kept.index, signal);
      return { files, fetchedBytes: 0, localBytes: part.bytes };
    }
    if (mayReadInPlace) {
      const index = await readIndex(at.folder, at.index);
      const files = index === null ? null : await this.#linked(read, index, pathOf, signal);
      if (files !== null) return { files, fetchedBytes: 0, localBytes: part.bytes };
    }
    const files = await this.#fetcher.fetch(query, read, pathOf, signal);
    return { files, fetchedBytes: part.bytes, localBytes: 0 };
  }

  async #inPlace(
    read: PartRead,
    folder: string,
    index: OutputIndex,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const files: string[] = [];
    for (const [at, segment] of segmentsOf(read, index).entries()) {
      const path = join(folder, segment.file);
      await this.#check(read, at, path, segment, signal);
      files.push(path);
    }
    return files;
  }

  /** Null when it cannot be linked, because it lies on another disk or goes away just now. A link stays
   * readable when the other worker removes the file. */
  async #linked(
    read: PartRead,
    index: OutputIndex,
    pathOf: (segment: number) => string,
    signal: AbortSignal,
  ): Promise<readonly string[] | null> {
    const files: string[] = [];
    for (const [at, segment] of segmentsOf(read, index).entries()) {
      const path = pathOf(at);
      try {
        await link(join(read.at.folder, segment.file), path);
      } catch {
        await Promise.all(files.map((file) => rm(file, { force: true })));
        return null;
      }
      await this.#check(read, at, path, segment, signal);
      files.push(path);
    }
    return files;
  }

  async #check(
    { at, part }: PartRead,
    number: number,
    path: string,
    segment: Segment,
    signal: AbortSignal,
  ): Promise<void> {
    const [bytes, crc32] = part.segments[number] ?? [];
    if (segment.bytes !== bytes || segment.crc32 !== crc32) {
      throw new PartLostError(at, 'Its index says something else than its task did.');
    }
    try {
      const { size, mtimeMs, ino } = await stat(path);
      const state = `${path} ${ino} ${size} ${mtimeMs}`;
      if (this.#checked.has(state)) return;
      const found = await checksumOf(path, signal);
      if (found.bytes !== bytes) throw new PartLostError(at, `Segment ${number} is too short.`);
      if (found.crc32 !== crc32) {
        throw new PartLostError(at, `The checksum of segment ${number} is wrong.`);
      }
      if (this.#checked.size >= CHECKED_MAX) this.#checked.clear();
      this.#checked.add(state);
    } catch (error) {
      signal.throwIfAborted();
      if (isMillraceError(error)) throw error;
      throw new PartLostError(at, `Segment ${number} cannot be read.`, error);
    }
  }
}

const NOTHING: BroughtPart = { files: [], fetchedBytes: 0, localBytes: 0 };

function segmentsOf({ at, partition }: PartRead, index: OutputIndex): readonly Segment[] {
  const part = index.parts[partition];
  if (part === undefined) throw new PartLostError(at, `It has no partition ${partition}.`);
  return part.segments;
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
