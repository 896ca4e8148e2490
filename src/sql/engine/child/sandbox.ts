/**
 * The sandbox of a call: its inputs are linked into the engine's own folder and its outputs are moved out of it.
 * Besides pinned files, that folder is all that an instance can open. Creating a folder for each call would cost more
 * than the call.
 */
import { createHash } from 'node:crypto';
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { OUTPUT, type OpenFile, type Sandbox } from '../messages.ts';
import { copyLines, type ByteRange } from './copy-lines.ts';
import type { Instances } from './instances.ts';
import type { Sessions } from './sessions.ts';
import { createViews, meaningsOf } from './views.ts';
import { Failed } from './work.ts';

/** A process that died may have left files there. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, OUTPUT), { recursive: true });
}

export async function within<T>(
  { files, links, scope, keepsFooters = false, views = [] }: Sandbox,
  instances: Instances,
  work: (sessions: Sessions) => Promise<T>,
): Promise<T> {
  const linked: string[] = [];
  const paths = files.map(({ path }) => path);
  try {
    for (const { path, as, bytes } of links) {
      linked.push(as);
      if (bytes === undefined) link(path, as);
      else await cut(path, as, bytes);
    }
    const pooled = await instances.take({
      kind:
        files.length === 0
          ? NO_FILES
          : `${keepsFooters ? 'pinned' : 'plain'} ${scope ?? exactly(files)}`,
      files: paths,
      ...(keepsFooters
        ? { meanings: new Map([...contentsOf(files), ...meaningsOf(views)]), isPinned: true }
        : {}),
    });
    try {
      await createViews(pooled, views, 'run');
      return await work(pooled.sessions);
    } finally {
      pooled.release();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw diskFull(error);
    throw unlessGone(error, paths, 'table_changed');
  } finally {
    for (const path of linked) rmSync(path, { force: true });
  }
}

/** Removes what is left of an unfinished output: DuckDB writes under a temporary name first. */
export function clearOutput(output: string, file: string | null): void {
  for (const name of readdirSync(output))
    if (file === null || name.endsWith(file)) rmSync(join(output, name), { recursive: true });
}

function diskFull(error: unknown): Failed {
  const what = 'There is no space left on the disk.';
  return new Failed({ code: 'disk_full', what, why: String(error) });
}

/** Of instances that open only the engine's own folder, and keep no footers. */
export const NO_FILES = 'no files';

/** What only calls of these files have in common. */
export function exactly(files: readonly OpenFile[], more: unknown = null): string {
  const pins = files.map(({ path, pin }) => JSON.stringify([path, pin]));
  const facts = [pins.toSorted(), more];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64');
}

/** The meanings of the paths of files whose footers are kept. */
export function contentsOf(files: readonly OpenFile[]): ReadonlyMap<string, string> {
  return new Map(files.map(({ path, pin }) => [`file ${path}`, pin]));
}

/**
 * Copies on file systems without hard links. A symbolic link would not do, because DuckDB resolves it before it
 * checks the path.
 */
function link(path: string, as: string): void {
  try {
    linkSync(path, as);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw gone(path, 'table_changed');
    copyFileSync(path, as, constants.COPYFILE_FICLONE);
  }
}

async function cut(path: string, as: string, bytes: ByteRange): Promise<void> {
  try {
    await copyLines(path, as, bytes);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? gone(path, 'table_changed') : error;
  }
}

/** DuckDB reports a missing file that is allowed as not allowed. */
export function unlessGone(
  error: unknown,
  files: readonly string[],
  code: 'table_changed' | 'table_missing',
): unknown {
  if (!(error instanceof Failed) || error.fault.code !== 'path_refused') return error;
  const missing = files.find((path) => !existsSync(path));
  return missing === undefined ? error : gone(missing, code);
}

function gone(path: string, code: 'table_changed' | 'table_missing'): Failed {
  const what = `No files found that match the pattern "${path}"`;
  const why = code === 'table_changed' ? { why: 'It existed when the query was planned.' } : {};
  return new Failed({ code, what, ...why });
}

export function move(path: string, to: string): void {
  try {
    renameSync(path, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    copyFileSync(path, to);
    rmSync(path);
  }
}
