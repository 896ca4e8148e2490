/** Runs a fragment: DuckDB writes the files, and they get names that say nothing of Hive partitions. */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DuckDBInstance,
  type DuckDBMaterializedResult,
  ResultReturnType,
} from '@duckdb/node-api';
import type { FragmentAnswer, FragmentCall } from '../messages.ts';
import { quotedPath } from '../sql/reader.ts';
import type { Connection, Work } from './work.ts';

export async function runFragment(
  work: Work,
  instance: DuckDBInstance,
  spillFolder: string,
  call: FragmentCall,
): Promise<FragmentAnswer> {
  const startedAt = performance.now();
  const connection = await work.connect(instance, 'run');
  const spill = watchSpill(spillFolder);
  try {
    for (const statement of call.setup) await connection.run(statement);
    const written = await connection.run(call.copy);
    const parts =
      call.target.kind === 'file'
        ? [onePart(await rowsIn(written, connection, call.target), call.target, call.keepEmpty)]
        : partsOf(written, call.target);
    return { parts, runMs: performance.now() - startedAt, spilledBytes: spill.end() };
  } finally {
    spill.end();
  }
}

type Parts = FragmentAnswer['parts'];

interface FileTarget {
  readonly folder: string;
  readonly file: string;
}

/** COPY answers how many it wrote, unless DuckDB has made several statements of one (a PIVOT). */
async function rowsIn(
  written: DuckDBMaterializedResult,
  connection: Connection,
  { folder, file }: FileTarget,
): Promise<number> {
  if (written.returnType === ResultReturnType.CHANGED_ROWS) return written.rowsChanged;
  const path = quotedPath(join(folder, file));
  const [[rows] = []] = await connection.texts(
    `SELECT num_rows::VARCHAR FROM parquet_file_metadata(${path})`,
  );
  return Number(rows);
}

function onePart(rows: number, { folder, file }: FileTarget, keepEmpty: boolean): Parts[number] {
  if (rows > 0 || keepEmpty) return { rows, files: [file] };
  rmSync(join(folder, file));
  return { rows, files: [] };
}

/** `<folder>/parts/p=3/data_0.parquet` becomes `<folder>/3-0.parquet`. */
function partsOf(
  written: DuckDBMaterializedResult,
  { folder, into, count }: Extract<FragmentCall['target'], { kind: 'partitions' }>,
): Parts {
  const parts = Array.from({ length: count }, () => ({ rows: 0, files: [] as string[] }));
  for (let at = 0; at < written.chunkCount; at += 1) {
    const chunk = written.getChunk(at);
    const rows = chunk.getColumnValues(1);
    for (const [row, value] of chunk.getColumnValues(0).entries()) {
      const path = value as string;
      const [, number] = /[\\/]p=(\d+)[\\/][^\\/]+$/.exec(path) ?? [];
      const part = parts[Number(number)];
      if (part === undefined) throw new Error(`unexpected file ${path}`);
      const name = `${number}-${part.files.length}.parquet`;
      renameSync(path, join(folder, name));
      part.files.push(name);
      part.rows += Number(rows[row]);
    }
  }
  rmSync(into, { recursive: true, force: true });
  return parts;
}

const LOOK_MS = 100;

/** The most that lay in the folder, as far as was seen: DuckDB does not say what it spilled. */
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
    // A file that went away while it was counted; the next look counts again.
  }
  return bytes;
}
