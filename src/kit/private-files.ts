/** Folders and files of a node are private to its user: they contain the inputs and results of all jobs. */
import { chmodSync, lstatSync, mkdirSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';

export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;

/** The folder by this name is always a node's own, so an old one that others can enter is closed to them. */
const OWN_NAME = '.millrace';

/** Creates the folder and its missing parents. An existing folder keeps its permissions. */
export function makePrivateFolder(folder: string): void {
  makeFolders(folder);
  if (basename(folder) !== OWN_NAME) return;
  const found = lstatSync(folder);
  const isOwn = found.isDirectory() && found.uid === process.geteuid?.();
  if (isOwn && (found.mode & OTHERS) !== 0) chmodSync(folder, PRIVATE_FOLDER);
}

/** A file that was made when this was not so. */
export function closeToOthers(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  const isOwn = found?.isFile() === true && found.uid === process.geteuid?.();
  if (isOwn && (found.mode & OTHERS) !== 0) chmodSync(file, PRIVATE_FILE);
}

let before: number | null = null;

/** From now on whatever this process writes is for its user only, also what libraries write. Not for a process
 * that runs the code of users: for those that it starts, the mask that it began with is returned. */
export function keepFilesPrivate(): number {
  before ??= process.umask(OTHERS);
  return before;
}

/** Level by level: with `recursive` Node.js never returns for a path where nothing can be made, such as one below /proc. */
function makeFolders(folder: string): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    // Another process may have been quicker.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    // A component of it is a file, or may not be entered: making it says so.
    return false;
  }
}
