/** Files and folders that people name on the command line: what is wrong with them, in a sentence. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MillraceError } from '../scheduler/core/index.ts';

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a component of its path is not a folder',
  EEXIST: 'a file of that name exists',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'its name is too long',
};

/** A mistake in the path becomes bad input; everything else, such as a full disk, stays what it is. */
export function pathError(cause: unknown, what: string): unknown {
  const reason = REASONS[(cause as NodeJS.ErrnoException).code ?? ''];
  if (reason === undefined) return cause;
  return new MillraceError({ code: 'bad_input', what: `${what}: ${reason}.`, cause });
}

/** Before a store is read for minutes: can a file of this name be written at all? */
export async function requireTarget(file: string): Promise<void> {
  const folder = dirname(file);
  if (!(await isFolder(folder)))
    throw bad(`Folder ${folder} does not exist, so ${file} cannot be written.`);
  if (await isFolder(file)) throw bad(`${file} is a folder.`, 'Name a file.');
}

export async function requireSource(file: string): Promise<void> {
  const found = await stat(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') throw bad(`File ${file} does not exist.`);
    throw pathError(cause, `${file} cannot be read`);
  });
  if (found.isDirectory()) throw bad(`${file} is a folder.`, 'Name a file.');
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ?? false;
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
