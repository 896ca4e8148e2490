/**
 * Rows that workers send to the leader, chunk by chunk, in files of this node until they expire. Chunks are on disk when
 * they are acknowledged; nothing but their checksums is in memory.
 */
import { appendFile, mkdir, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { HeldFragment, ResultChunk } from '../../scheduler/contract/index.ts';
import { KeyedLock, PRIVATE_FOLDER } from '../../kit/index.ts';

export interface ResultSpoolOptions {
  readonly folder: string;
  /** On disk, of all queries together. */
  readonly bytesMax?: number;
}

export interface SpooledResult {
  readonly path: string;
  readonly fence: number;
  readonly attempt: number;
  readonly bytes: number;
  readonly crc32: number;
  /** Null while chunks are missing. */
  readonly rows: number | null;
}

interface Entry {
  readonly path: string;
  readonly fence: number;
  readonly attempt: number;
  /** CRC-32 of each chunk, to recognise a repeated one. */
  readonly sums: number[];
  bytes: number;
  crc32: number;
  rows: number | null;
}

/** A chunk has a byte at least, except that a result may be empty. */
const CHUNKS_MAX = 1_000_000;
const BYTES_MAX: number = 64 * 2 ** 30;

export class ResultSpool {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #queries: Map<JobId, Map<string, Entry>> = new Map();
  readonly #turns = new KeyedLock();
  #bytes = 0;
  #files = 0;

  constructor({ folder, bytesMax = BYTES_MAX }: ResultSpoolOptions) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
  }

  /** Returns the number of the chunk that is expected next. */
  put(chunk: ResultChunk, held: HeldFragment): Promise<number> {
    // One after the other: a worker may repeat a call whose answer it did not wait for.
    return this.#turns.run([`${held.query} ${held.taskId}`], () => this.#put(chunk, held));
  }

  /** Of this task, by fence or without one by attempt. */
  find(query: JobId, taskId: string, { fence, attempt }: Attempt): SpooledResult | null {
    const entry = this.#queries.get(query)?.get(taskId);
    if (entry === undefined) return null;
    const isMeant = fence === 0 ? entry.attempt === attempt : entry.fence === fence;
    return isMeant ? entry : null;
  }

  queries(): readonly JobId[] {
    return [...this.#queries.keys()];
  }

  async drop(query: JobId): Promise<void> {
    const entries = this.#queries.get(query);
    this.#queries.delete(query);
    for (const entry of entries?.values() ?? []) await this.#remove(entry);
  }

  async #put(chunk: ResultChunk, { query, taskId, fence, attempt }: HeldFragment): Promise<number> {
    const entry = await this.#entry(query, taskId, { fence, attempt });
    const sum = crc32(chunk.payload);
    if (chunk.chunk < entry.sums.length) {
      if (entry.sums[chunk.chunk] !== sum) throw differs(chunk);
      return entry.sums.length;
    }
    if (chunk.chunk > entry.sums.length) throw outOfOrder(chunk, entry.sums.length);
    if (entry.rows !== null) throw complete(chunk);
    this.#checkRoom(chunk);
    const before = entry.bytes;
    try {
      await appendFile(entry.path, chunk.payload);
    } catch (error) {
      await truncate(entry.path, before).catch(() => {});
      throw unwritten(error);
    }
    entry.sums.push(sum);
    entry.bytes += chunk.payload.length;
    this.#bytes += chunk.payload.length;
    entry.crc32 = crc32(chunk.payload, entry.crc32);
    entry.rows = chunk.rows;
    return entry.sums.length;
  }

  /** An attempt takes the place of the one before it. */
  async #entry(query: JobId, taskId: string, { fence, attempt }: Attempt): Promise<Entry> {
    const entries = this.#queries.get(query) ?? new Map<string, Entry>();
    this.#queries.set(query, entries);
    const known = entries.get(taskId);
    if (known?.fence === fence) return known;
    if (known !== undefined) await this.#remove(known);
    await mkdir(this.#folder, { recursive: true, mode: PRIVATE_FOLDER });
    this.#files += 1;
    const path = join(this.#folder, `${this.#files}.parquet`);
    const entry: Entry = { path, fence, attempt, sums: [], bytes: 0, crc32: 0, rows: null };
    entries.set(taskId, entry);
    return entry;
  }

  async #remove({ path, bytes }: Entry): Promise<void> {
    this.#bytes -= bytes;
    await rm(path, { force: true });
  }

  #checkRoom({ chunk, payload, rows }: ResultChunk): void {
    if (payload.length === 0 && rows === null)
      throw new MillraceError({ code: 'bad_input', what: `Chunk ${chunk} is empty.` });
    if (chunk >= CHUNKS_MAX)
      throw new MillraceError({
        code: 'too_large',
        what: `More than ${CHUNKS_MAX} chunks of one task.`,
        todo: 'Send larger chunks.',
      });
    if (this.#bytes + payload.length > this.#bytesMax)
      throw new MillraceError({
        code: 'overloaded',
        what: `The leader keeps ${this.#bytes} bytes of results, which is its limit.`,
        todo: 'Register the rows as a map output and serve them from the worker.',
      });
  }
}

type Attempt = Pick<SpooledResult, 'fence' | 'attempt'>;

function unwritten(cause: unknown): MillraceError {
  return new MillraceError({
    code: 'disk_full',
    what: 'The leader could not store the chunk.',
    why: cause instanceof Error ? cause.message : String(cause),
    todo: 'Send it again later.',
    cause,
  });
}

function differs({ chunk }: ResultChunk): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Chunk ${chunk} has arrived before with other bytes.`,
    todo: 'Send each chunk with the same bytes, however often.',
  });
}

function outOfOrder({ chunk }: ResultChunk, expected: number): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Chunk ${chunk} came before chunk ${expected}.`,
    todo: `Continue with chunk ${expected}.`,
  });
}

function complete({ chunk }: ResultChunk): MillraceError {
  return new MillraceError({ code: 'conflict', what: `Chunk ${chunk} comes after the last one.` });
}
