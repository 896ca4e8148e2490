/** The default folder for the outputs of queries. */
import type { Stats } from 'node:fs';
import { lstat, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const TRIES = 20;

/**
 * The same folder for every worker of a user, so that each sweeps what others have left behind. A folder of that name
 * that belongs to another user is not used.
 */
export async function temporaryData(): Promise<string> {
  const owner = process.getuid?.() ?? 'user';
  const folder = join(tmpdir(), `millrace-${owner}`);
  const found = await made(folder);
  const isOurs =
    found?.isDirectory() === true && (typeof owner === 'string' || found.uid === owner);
  return isOurs ? folder : mkdtemp(join(tmpdir(), 'millrace-'));
}

/** A worker that ends removes the folder if it is empty, possibly between the two calls: then it is created again. */
async function made(folder: string): Promise<Stats | null> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return await lstat(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return null;
}
