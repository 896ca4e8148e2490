/**
 * The journal of a DuckDB store: a line for each commit, on disk before the commit is acknowledged. Two files take
 * turns: while one is written, the other can be emptied once the tables have followed.
 *
 * A line that was cut off by a crash is the last one of its file, and was not acknowledged: it is dropped. Any other
 * line that does not match its checksum means that the file is damaged.
 */
import { existsSync, statSync } from 'node:fs';
import { open, readFile, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { closeToOthers } from '../../../kit/index.ts';
import type { JobNo, TermId } from '../../core/index.ts';
import type { JournalRecord } from '../journal/port.ts';
import type { Counters } from '../store.ts';
import { damaged, unavailable, unknownOutcome } from './failure.ts';

export interface ShardRecord extends JournalRecord, Counters {
  readonly shard: number;
}

/** A file that has grown to this is given a rest as soon as the other one is empty. */
const TURN_BYTES = 8 * 1024 * 1024;

interface Part {
  readonly path: string;
  readonly handle: FileHandle;
  bytes: number;
  /** The last commit of each shard in it. */
  readonly last: Map<number, number>;
}

/** Of the DuckDB file at `path`. */
const partPaths = (path: string): string[] => [`${path}.journal-0`, `${path}.journal-1`];

/** The one that has something in it. */
export function filledJournal(path: string): string | undefined {
  return partPaths(path).find((part) => existsSync(part) && statSync(part).size > 0);
}

export class JournalFile {
  /** Of the DuckDB file. */
  readonly path: string;
  #parts: readonly Part[] | null = null;
  #written = 0;
  /** Nobody knows what has become of the last line: the files have to be read again. */
  #doubt = false;

  constructor(path: string) {
    this.path = path;
  }

  get isInDoubt(): boolean {
    return this.#doubt;
  }

  /** Opens the files anew. Returns their records in order. */
  async read(): Promise<ShardRecord[]> {
    await this.#close();
    const opened: { part: Part; records: ShardRecord[] }[] = [];
    try {
      for (const path of partPaths(this.path)) opened.push(await openPart(path));
      await syncFolder(this.path);
    } catch (cause) {
      for (const { part } of opened) await part.handle.close();
      throw unavailable(cause);
    }
    this.#parts = opened.map(({ part }) => part);
    // The one with the newer lines goes on; an empty one is as good as any.
    const [first, second] = opened.map(({ records }) => newest(records));
    this.#written = (second ?? 0) > (first ?? 0) ? 1 : 0;
    this.#doubt = false;
    return opened
      .flatMap(({ records }) => records)
      .toSorted((a, b) => a.shard - b.shard || a.commitNo - b.commitNo);
  }

  async append(record: ShardRecord): Promise<void> {
    const { written } = this.#order();
    const line = lineOf(record);
    try {
      await writeAll(written.handle, line, written.bytes);
    } catch (cause) {
      // What was written of it must not stand before the next line.
      await written.handle.truncate(written.bytes).catch(() => (this.#doubt = true));
      throw this.#doubt ? unknownOutcome(cause) : unavailable(cause);
    }
    try {
      await written.handle.datasync();
    } catch (cause) {
      this.#doubt = true;
      throw unknownOutcome(cause);
    }
    written.bytes += line.length;
    written.last.set(record.shard, record.commitNo);
  }

  /** The tables have everything up to these commits. */
  async trim(folded: (shard: number) => number): Promise<void> {
    const { written, resting } = this.#order();
    const isFolded = ({ last }: Part): boolean =>
      [...last].every(([shard, commitNo]) => commitNo <= folded(shard));
    if (resting.bytes > 0 && isFolded(resting)) await empty(resting);
    if (written.bytes > TURN_BYTES && resting.bytes === 0) this.#written = 1 - this.#written;
  }

  /** Leaves nothing behind if the tables have everything. */
  async close(folded: (shard: number) => number): Promise<void> {
    const parts = this.#parts ?? [];
    const isFolded = parts.every(({ last }) =>
      [...last].every(([shard, commitNo]) => commitNo <= folded(shard)),
    );
    await this.#close();
    if (!isFolded || this.#doubt) return;
    for (const { path } of parts) await rm(path, { force: true });
  }

  async #close(): Promise<void> {
    const parts = this.#parts ?? [];
    this.#parts = null;
    for (const { handle } of parts) await handle.close();
  }

  #order(): { written: Part; resting: Part } {
    const [first, second] = this.#parts ?? [];
    if (first === undefined || second === undefined) {
      throw unavailable(new Error('The store is closed.'));
    }
    return this.#written === 0
      ? { written: first, resting: second }
      : { written: second, resting: first };
  }
}

async function empty(part: Part): Promise<void> {
  await part.handle.truncate(0);
  part.bytes = 0;
  part.last.clear();
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

async function openPart(path: string): Promise<{ part: Part; records: ShardRecord[] }> {
  await (await open(path, 'a')).close();
  closeToOthers(path);
  const content = await readFile(path);
  const { records, bytes } = recordsIn(path, content.toString('utf8'));
  const handle = await open(path, 'r+');
  try {
    await handle.truncate(bytes);
    // What was only seen in the cache of the system is written again, for an earlier write of it may have failed.
    if (bytes > 0) {
      await writeAll(handle, content.subarray(0, bytes), 0);
      await handle.datasync();
    }
  } catch (cause) {
    await handle.close();
    throw cause;
  }
  const last = new Map(records.map(({ shard, commitNo }) => [shard, commitNo]));
  return { part: { path, handle, bytes, last }, records };
}

/** A new file is only there for good when its folder says so. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function newest(records: readonly ShardRecord[]): number {
  return records.at(-1)?.commitNo ?? 0;
}

/** Checksum, head and body. JSON has neither tabs nor line breaks of its own. */
function lineOf({ shard, commitNo, lastSeq, nextJobNo, term, body }: ShardRecord): Buffer {
  const head = JSON.stringify([shard, commitNo, lastSeq, nextJobNo, term]);
  // Encoded once: the checksum of a text would encode it again.
  const line = Buffer.from(`${NO_CHECKSUM} ${head}\t${body}\n`, 'utf8');
  line.write(checksum(line.subarray(NO_CHECKSUM.length + 1, -1)), 'latin1');
  return line;
}

/** The place of a checksum. */
const NO_CHECKSUM = '00000000';

function checksum(text: Buffer | string): string {
  return crc32(text).toString(16).padStart(NO_CHECKSUM.length, '0');
}

function recordsIn(path: string, content: string): { records: ShardRecord[]; bytes: number } {
  const lines = content.split('\n');
  // What comes after the last line break was cut off, or is nothing.
  lines.pop();
  const records: ShardRecord[] = [];
  let bytes = 0;
  for (const [at, line] of lines.entries()) {
    const record = recordOf(line);
    if (record === null) {
      // The end of a line may reach the disk before its beginning.
      if (at === lines.length - 1) break;
      throw damaged(path, `line ${at + 1} does not match its checksum`);
    }
    records.push(record);
    bytes += Buffer.byteLength(line) + 1;
  }
  return { records, bytes };
}

function recordOf(line: string): ShardRecord | null {
  const text = line.slice(9);
  if (line.slice(0, 9) !== `${checksum(text)} `) return null;
  const tab = text.indexOf('\t');
  type Head = [number, number, number, JobNo, TermId];
  const [shard, commitNo, lastSeq, nextJobNo, term] = JSON.parse(text.slice(0, tab)) as Head;
  return { shard, commitNo, lastSeq, nextJobNo, term, body: text.slice(tab + 1) };
}
