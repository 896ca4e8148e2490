/** The folder for a server's temporary files: spilled data, rows on their way to a reader. */
import { readdir, rm, rmdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { isAlive } from '../../kit/index.ts';

/** Several nodes may have the same data folder, on several machines too: each has a folder by its own name. */
export class QueryFolder {
  readonly path: string;
  readonly #around: string;

  constructor(data: string) {
    this.#around = join(data, 'queries');
    this.path = join(this.#around, `${hostname()}~${process.pid}~${randomUUID().slice(0, 8)}`);
  }

  /** Removes what processes of this machine have left that are gone. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#around).catch(() => [])) {
      const [host, pid] = name.split('~');
      if (host !== hostname() || !/^\d+$/.test(pid ?? '') || isAlive(Number(pid))) continue;
      await rm(join(this.#around, name), { recursive: true, force: true });
    }
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    // Others may have theirs beside it.
    await rmdir(this.#around).catch(() => {});
  }
}
