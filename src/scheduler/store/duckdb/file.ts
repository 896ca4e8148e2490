/**
 * The file: opened by one process, settings, and a clean end. DuckDB locks the file against other
 * processes but not against a second instance in this one, and closing that would free the lock of
 * the first (a POSIX lock belongs to the process). So this module keeps a list of what its thread has
 * opened, and looks for what other threads have.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { textDecoder } from '@duckdb/node-api/lib/vectors/dataAccessors.js';
import { existsSync, fstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { MillraceError } from '../../core/index.ts';
import { damaged, locked, unavailable } from './failure.ts';
import { filledJournal } from './journal-file.ts';
import { Session } from './session.ts';
import { closeToOthers, keepMarks } from '../../../kit/index.ts';

keepMarks(textDecoder);

/** A store that ends with the process. */
export const MEMORY = ':memory:';
const CATALOG = 'store';

/**
 * Small row groups: an update rewrites the groups it touched at the next checkpoint, and a look-up reads one of them.
 * With DuckDB's 122,880 rows the longest stall was 200 ms, with these 60 ms. The size is not stored in the file, so
 * it is set at each opening.
 */
const ROW_GROUP_ROWS = 16_384;

/**
 * When the log has grown to this it is folded into the file, within the commit that filled it. The journal waits for the
 * disk meanwhile, 20 to 30 ms after 16 MiB: smaller portions more often cost as much and delay fewer commits.
 */
const LOG_BYTES = 4 * 1024 * 1024;

const SETTINGS: Readonly<Record<string, string>> = {
  // Statements are small; a second thread costs more than it brings.
  threads: '1',
  memory_limit: '1GiB',
  // See session.ts.
  disabled_optimizers: 'statistics_propagation',
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

export interface OpenedFile {
  /** Null for a store that ends with the process. */
  readonly path: string | null;
  /** Writes; commits wait for each other here. */
  readonly writer: Session;
  /** Reads do not wait for writes: they see the last commit. */
  readonly reader: Session;
  /** A separate connection, for reading at the pace of the reader. */
  connect(): Promise<Session>;
  close(): Promise<void>;
}

const opened = new Set<string>();

export async function openFile(path: string, logBytes: number = LOG_BYTES): Promise<OpenedFile> {
  const file = path === MEMORY ? null : realPath(path);
  if (file !== null) {
    if (opened.has(file) || isOpenInProcess(file)) throw locked(file);
    opened.add(file);
  }
  try {
    if (file !== null) refuseLogAlone(file);
    return await attach(file, logBytes);
  } catch (cause) {
    if (file !== null) opened.delete(file);
    throw cause;
  }
}

/** What all threads of the process have open. Windows has no such folder, and lets nobody open the file twice. */
const DESCRIPTORS = '/dev/fd';

/** By any thread, and under any of its names. */
function isOpenInProcess(file: string): boolean {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (found === undefined || !existsSync(DESCRIPTORS)) return false;
  return readdirSync(DESCRIPTORS).some((name) => {
    try {
      const { dev, ino } = fstatSync(Number(name), { bigint: true });
      return dev === found.dev && ino === found.ino;
    } catch {
      // Closed meanwhile, as the one that listed the folder is.
      return false;
    }
  });
}

/** DuckDB would start with an empty file and drop the log. */
function refuseLogAlone(file: string): void {
  if (existsSync(file)) return;
  const log = `${file}.wal`;
  const left = existsSync(log) && statSync(log).size > 0 ? log : filledJournal(file);
  if (left === undefined) return;
  throw damaged(file, `${left} is there, but the file itself is missing`);
}

/** Three pages, then blocks. */
const HEADER_BYTES = 3 * 4096;
const BLOCK_BYTES = 256 * 1024;

/**
 * DuckDB reads a block when it needs it, so a file that was cut short opens, and fails much later. The length that
 * its header says is not a measure: free blocks at the end need not be there.
 */
async function refuseCutShort(file: string, session: Session): Promise<void> {
  const { size } = statSync(file);
  const blocks = Math.floor((size - HEADER_BYTES) / BLOCK_BYTES);
  const tables = await session.rows(
    `select table_name from duckdb_tables() where database_name = '${CATALOG}'`,
  );
  for (const [name] of tables as string[][]) {
    const [row] = await session.rows(`select max(block_id) from pragma_storage_info('${name}')`);
    const last = row?.[0] as number | null;
    if (last === null || last < blocks) continue;
    throw damaged(file, `table ${name} needs block ${last}, and there are ${blocks}`);
  }
}

/** Also of a file that is not there yet; links and dots must not hide that two paths are one. */
function realPath(path: string): string {
  const full = resolve(path);
  try {
    return join(realpathSync(dirname(full)), basename(full));
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_setting',
      what: `The directory of the store ${full} does not exist.`,
      todo: 'Create it, or choose another path.',
      cause,
    });
  }
}

async function attach(file: string | null, logBytes: number): Promise<OpenedFile> {
  const settings = {
    ...SETTINGS,
    checkpoint_threshold: `${Math.ceil(logBytes / 1024)}KiB`,
    ...(file === null ? {} : { temp_directory: `${file}.tmp` }),
  };
  const instance = await DuckDBInstance.create(MEMORY, settings);
  const connect = async (): Promise<Session> => {
    const session = new Session(await instance.connect());
    await session.script(`use ${CATALOG}`);
    return session;
  };
  const main = new Session(await instance.connect());
  try {
    const target = (file ?? MEMORY).replaceAll("'", "''");
    await main.script(`attach '${target}' as ${CATALOG} (row_group_size ${ROW_GROUP_ROWS})`);
    if (file !== null) {
      // The process may write files that all can read.
      for (const each of [file, `${file}.wal`]) closeToOthers(each);
      const probe = await connect();
      await refuseCutShort(file, probe).finally(() => probe.close());
    }
    const [writer, reader] = [await connect(), await connect()];
    const close = (): Promise<void> =>
      allOf([
        () => writer.exclusively(() => writer.script('checkpoint')),
        () => reader.exclusively(async () => reader.close()),
        () => writer.exclusively(async () => writer.close()),
        // Releases the lock even if an uncollected result still holds the instance.
        () => main.script(`detach ${CATALOG}`),
        () => main.close(),
        () => instance.closeSync(),
        () => void (file !== null && opened.delete(file)),
      ]);
    return { path: file, writer, reader, connect, close };
  } catch (cause) {
    main.close();
    instance.closeSync();
    if (cause instanceof Error && cause.message.includes('Conflicting lock')) {
      throw locked(file ?? MEMORY, cause);
    }
    throw unavailable(cause);
  }
}

/** Runs each step, whatever became of those before it; the first failure is thrown at the end. */
async function allOf(steps: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (cause) {
      failures.push(cause);
    }
  }
  if (failures.length > 0) throw unavailable(failures[0]);
}
