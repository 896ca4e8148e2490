/** Finds a program in the PATH of this process: never in one that a task brings along. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { TaskFailure } from '../failure.ts';

export async function findProgram(name: string): Promise<string> {
  if (isAbsolute(name)) return name;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  for (const folder of folders) {
    const file = join(folder, name);
    if (await isProgram(file)) return file;
  }
  throw new TaskFailure('cannot_start', 'retryable', `${name} is not in the PATH of this worker.`);
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
