import { existsSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { deferred } from '../../../src/kit/index.ts';

/** Resolves when the file is there: how a test lets a handler in another process go on. */
export async function appearance(file: string): Promise<void> {
  const there = deferred();
  const look = (): void => {
    if (existsSync(file)) there.resolve();
  };
  const watcher = watch(dirname(file), (_, name) => {
    if (name === null || name === basename(file)) look();
  });
  try {
    look();
    await there.promise;
  } finally {
    watcher.close();
  }
}
