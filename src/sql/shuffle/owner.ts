/**
 * Ownership of data folders. Every store has a folder of its own below the given one, with a file that names the
 * process that created it. So workers can share a data folder, and what a dead process left behind is removed by the
 * next one, and nothing else is.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../kit/index.ts';

interface Owner {
  readonly pid: number;
  /** When the process started, in the units of the operating system; null where it is not known. */
  readonly started: string | null;
  /** The namespace in which the process id is valid. */
  readonly place: string;
}

const OWNER_FILE = 'owner.json';
/** Folders are created completely under a name with this prefix, then renamed. */
const UNFINISHED = '.new-';
/** An owner that cannot be examined from here proves that it is alive by touching its file. */
export const TOUCH_MS = 60_000;
const STALE_MS = 600_000;

export async function makeOwnFolder(root: string): Promise<string> {
  const id = randomBytes(8).toString('hex');
  const unfinished = join(root, `${UNFINISHED}${id}`);
  // The data of queries is private.
  await mkdir(unfinished, { recursive: true, mode: PRIVATE_FOLDER });
  await writeFile(join(unfinished, OWNER_FILE), JSON.stringify(ownOwner()), { mode: PRIVATE_FILE });
  const folder = join(root, id);
  await rename(unfinished, folder);
  return folder;
}

export async function touchOwner(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, OWNER_FILE), now, now);
}

/** Removes what dead processes have left below `root`. Returns the number of folders removed. */
export async function sweep(root: string): Promise<number> {
  const names = await readdir(root).catch(() => []);
  let swept = 0;
  for (const name of names) {
    const folder = join(root, name);
    if (!(await isAbandoned(folder, name))) continue;
    // Another process may be sweeping too.
    await rm(folder, { recursive: true, force: true }).catch(() => {});
    swept += 1;
  }
  return swept;
}

async function isAbandoned(folder: string, name: string): Promise<boolean> {
  const file = name.startsWith(UNFINISHED) ? folder : join(folder, OWNER_FILE);
  // Not one of our folders: left alone.
  const touched = await stat(file).catch(() => null);
  if (touched === null) return false;
  const isStale = Date.now() - touched.mtimeMs > STALE_MS;
  const owner = file === folder ? null : await readOwner(file);
  if (owner === null || owner.place !== ownPlace()) return isStale;
  if (!isRunning(owner.pid)) return true;
  // The process id may have been reused since.
  return owner.started === null ? isStale : owner.started !== startOf(owner.pid);
}

async function readOwner(file: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Owner;
  } catch {
    return null;
  }
}

function ownOwner(): Owner {
  return { pid: process.pid, started: startOf(process.pid), place: ownPlace() };
}

function ownPlace(): string {
  const boot = quiet(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const space = quiet(() => readlinkSync('/proc/self/ns/pid'));
  return [hostname(), boot ?? '', space ?? ''].join(' ');
}

function startOf(pid: number): string | null {
  const line = quiet(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The program's name is in parentheses and may contain anything.
  return line?.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function quiet<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}
