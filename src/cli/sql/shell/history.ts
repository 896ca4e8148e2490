/** The lines that people typed, kept for the next time in a file that only they can read. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { makePrivateFolder } from '../../../kit/index.ts';

export const HISTORY_MAX = 1_000;
const PRIVATE_FILE = 0o600;

export function historyFile(environment: NodeJS.ProcessEnv): string {
  const state = environment['XDG_STATE_HOME'] ?? '';
  const folder = isAbsolute(state) ? state : join(homedir(), '.local', 'state');
  return join(folder, 'millrace', 'sql_history');
}

/** The newest first, as readline wants them. A file that cannot be read is an empty one. */
export function readHistory(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines
      .filter((line) => line !== '')
      .toReversed()
      .slice(0, HISTORY_MAX);
  } catch {
    return [];
  }
}

/** Returns why it could not be written, or null. A home that is read-only does not end a shell. */
export function writeHistory(file: string, newestFirst: readonly string[]): string | null {
  const lines = newestFirst.slice(0, HISTORY_MAX).toReversed();
  try {
    makePrivateFolder(dirname(file));
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''), { mode: PRIVATE_FILE });
    // The mode above is only for a file that is new.
    chmodSync(file, PRIVATE_FILE);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * A statement of several lines is one entry, so that it comes back as a whole. Lines with a comment stay as they are:
 * in one line the comment would hide the rest.
 */
export function joinLines(newestFirst: string[], count: number): void {
  const lines = newestFirst.slice(0, count).toReversed();
  if (count < 2 || lines.length < count || lines.some((line) => line.includes('--'))) return;
  newestFirst.splice(0, count, lines.map((line) => line.trim()).join(' '));
}
