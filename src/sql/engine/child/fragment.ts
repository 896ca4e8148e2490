/** Runs a fragment: DuckDB writes the files, which are then renamed by partition. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type DuckDBMapValue,
  type DuckDBMaterializedResult,
  ResultReturnType,
} from '@duckdb/node-api';
import {
  type FragmentAnswer,
  type FragmentCall,
  type InstanceSettings,
  OUTPUT,
} from '../messages.ts';
import { quotedPath } from '../sql/reader.ts';
import type { Instances, PooledInstance } from './instances.ts';
import { keysIn } from './keys.ts';
import { runOperator, type OperatorTools } from './operator.ts';
import { makeResult, type MadeResult } from './result-rows.ts';
import type { Sessions } from './sessions.ts';
import { NO_FILES, clearOutput, move, within } from './sandbox.ts';
import { type Connection, Failed, type SessionConnection, type Work } from './work.ts';

export async function runFragment(
  work: Work,
  instances: Instances,
  { spillFolder, folder }: InstanceSettings,
  call: FragmentCall,
  tools: OperatorTools | null = null,
): Promise<FragmentAnswer> {
  const startedAt = performance.now();
  return within(call.sandbox, instances, async (sessions) => {
    const { target } = call;
    const output = join(folder, OUTPUT);
    const connection = await work.take(sessions, 'run');
    const spill = watchSpill(spillFolder);
    const reading = call.sandbox.keepsFooters === true ? new OwnOutput(work, instances) : null;
    try {
      await connection.begin(call.timeZone, call.setup);
      checkCode(call, tools);
      if (call.custom !== null) await custom(work, sessions, connection, call, tools);
      const reader = (): Promise<SessionConnection> =>
        reading?.connection() ?? Promise.resolve(connection);
      const made = call.rows === null ? null : await makeResult(connection, call.rows);
      const written = made === null ? await connection.run(call.copy) : null;
      // Before partitions are moved.
      const keys =
        call.keys.length > 0 ? await keysIn(await reader(), call.keys, filesIn(output)) : [];
      const parts =
        written === null ? resultPart(made, call) : await partsOf(written, call, output, reader);
      const runMs = performance.now() - startedAt;
      const filteredRows = await countOf(connection, call.filtered);
      if (call.leavesNoState && made === null) connection.giveBack();
      reading?.giveBack();
      if (target.kind === 'file')
        for (const { files } of parts)
          for (const file of files) move(join(output, file), join(target.folder, file));
      // The parent reads a small result itself, so its checksum is not needed.
      const sums = call.rows === null ? sumsOf(target.folder, parts) : {};
      const rows = made?.json ?? null;
      return { parts, rows, sums, keys, filteredRows, runMs, spilledBytes: spill.end() };
    } finally {
      if (call.custom !== null) await connection.run(call.custom.table.drop).catch(() => {});
      spill.end();
      reading?.release();
      clearOutput(output, target.kind === 'file' ? target.file : null);
    }
  });
}

/**
 * Reads what a fragment over pinned files has written, in an instance that caches no footers: every output has the
 * same name.
 */
class OwnOutput {
  readonly #work: Work;
  readonly #instances: Instances;
  #pooled: PooledInstance | null = null;
  #connection: SessionConnection | null = null;

  constructor(work: Work, instances: Instances) {
    this.#work = work;
    this.#instances = instances;
  }

  async connection(): Promise<SessionConnection> {
    this.#pooled ??= await this.#instances.take({ kind: NO_FILES, files: [] });
    this.#connection ??= await this.#work.take(this.#pooled.sessions, 'run');
    return this.#connection;
  }

  giveBack(): void {
    this.#connection?.giveBack();
  }

  release(): void {
    this.#pooled?.release();
  }
}

/** Those that were just written. */
function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.parquet'));
  return names.toSorted().map((name) => join(folder, name));
}

async function countOf(connection: Connection, sql: string | null): Promise<number | null> {
  if (sql === null) return null;
  const [[count] = []] = await connection.texts(sql);
  return Number(count);
}

/** A module may have changed on the disk since this worker has registered what it had. */
function checkCode({ requires }: FragmentCall, tools: OperatorTools | null): void {
  if (requires.length === 0) return;
  if (tools === null) throw new Error('This process runs no custom operators.');
  const missing = requires.find((name) => !tools.code.has(name));
  if (missing === undefined) return;
  const what = `The modules of this worker have no '${missing}' any more.`;
  const why = tools.code.failures.join(' ') || undefined;
  throw new Failed({
    code: 'operator_failed',
    what,
    missing,
    ...(why === undefined ? {} : { why }),
  });
}

/** On a connection of its own it reads while the other one writes. */
async function custom(
  work: Work,
  sessions: Sessions,
  writing: SessionConnection,
  { custom: run, timeZone, setup }: FragmentCall,
  tools: OperatorTools | null,
): Promise<void> {
  if (run === null || tools === null) throw new Error('This process runs no custom operators.');
  const reading = await work.take(sessions, 'run');
  await reading.begin(timeZone, setup);
  await runOperator(work, { reading, writing }, run, tools);
}

type Parts = FragmentAnswer['parts'];

/** Computed here rather than in the parent, whose event loop must stay responsive. */
function sumsOf(folder: string, parts: Parts): FragmentAnswer['sums'] {
  const sums: Record<string, { bytes: number; crc32: number }> = {};
  for (const name of parts.flatMap(({ files }) => files)) {
    const path = join(folder, name);
    if (statSync(path).size > SUM_BYTES_MAX) continue;
    const content = readFileSync(path);
    sums[name] = { bytes: content.length, crc32: crc32(content) };
  }
  return sums;
}

/** Larger files would delay an abort. */
const SUM_BYTES_MAX = 64 * 1_024;

interface FileTarget {
  readonly folder: string;
  readonly file: string;
}

function resultPart(made: MadeResult | null, { target }: FragmentCall): Parts {
  const files = made?.hasFile === true && target.kind === 'file' ? [target.file] : [];
  return [{ rows: made?.rows ?? 0, files }];
}

async function partsOf(
  written: DuckDBMaterializedResult,
  { target, keepEmpty }: FragmentCall,
  output: string,
  reader: () => Promise<Connection>,
): Promise<Parts> {
  if (target.kind === 'partitions') return partitionsOf(written, target);
  const rows = await rowsIn(written, reader, output, target);
  return [{ rows, files: rows > 0 || keepEmpty ? [target.file] : [] }];
}

/** COPY returns the number of rows, unless DuckDB has made several statements of it (PIVOT). */
async function rowsIn(
  written: DuckDBMaterializedResult,
  reader: () => Promise<Connection>,
  output: string,
  { file }: FileTarget,
): Promise<number> {
  if (written.returnType === ResultReturnType.CHANGED_ROWS) return written.rowsChanged;
  const path = quotedPath(join(output, file));
  const connection = await reader();
  const [[rows] = []] = await connection.texts(
    `SELECT num_rows::VARCHAR FROM parquet_file_metadata(${path})`,
  );
  return Number(rows);
}

/** `data_7.parquet` becomes `3-0.parquet` if it has rows of partition 3. */
function partitionsOf(
  written: DuckDBMaterializedResult,
  { folder, count }: Extract<FragmentCall['target'], { kind: 'partitions' }>,
): Parts {
  const parts = Array.from({ length: count }, () => ({ rows: 0, files: [] as string[] }));
  const columns = written.columnNames();
  const [ofPath, ofRows, ofKeys] = ['filename', 'count', 'partition_keys'].map((name) =>
    columns.indexOf(name),
  ) as [number, number, number];
  for (let at = 0; at < written.chunkCount; at += 1) {
    const chunk = written.getChunk(at);
    const rows = chunk.getColumnValues(ofRows);
    const keys = chunk.getColumnValues(ofKeys);
    for (const [row, value] of chunk.getColumnValues(ofPath).entries()) {
      const path = value as string;
      const number = (keys[row] as DuckDBMapValue).entries[0]?.value as string;
      const part = parts[Number(number)];
      if (part === undefined) throw new Error(`unexpected file ${path}`);
      const name = `${number}-${part.files.length}.parquet`;
      move(path, join(folder, name));
      part.files.push(name);
      part.rows += Number(rows[row]);
    }
  }
  return parts;
}

const LOOK_MS = 100;

/** The peak size of the folder, as sampled: DuckDB does not report what it spilled. */
function watchSpill(folder: string): { end(): number } {
  let most = 0;
  const look = (): void => {
    most = Math.max(most, bytesIn(folder));
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    end: () => {
      clearInterval(timer);
      return most;
    },
  };
}

function bytesIn(folder: string): number {
  let bytes = 0;
  try {
    for (const name of readdirSync(folder)) bytes += statSync(join(folder, name)).size;
  } catch {
    // A file was removed while it was counted; the next sample counts again.
  }
  return bytes;
}
