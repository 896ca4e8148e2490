/** Where the outputs of queries lie when nobody has named a folder. */
import { lstat, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The same one for every worker of a user, so that each sweeps what others have left behind. A folder of that
 * name that belongs to somebody else is left alone.
 */
export async function temporaryData(): Promise<string> {
  const owner = process.getuid?.() ?? 'user';
  const folder = join(tmpdir(), `millrace-${owner}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && (typeof owner === 'string' || found.uid === owner);
  return isOurs ? folder : mkdtemp(join(tmpdir(), 'millrace-'));
}
