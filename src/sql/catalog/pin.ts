/**
 * Pinned files: a query must read the files it was planned for. A file is identified by its size, its modification
 * time in nanoseconds and a hash of its last bytes, where Parquet has its footer.
 */
import { createHash } from 'node:crypto';
import { open, realpath, stat } from 'node:fs/promises';
import type { BigIntStats } from 'node:fs';
import { MillraceError } from '../../scheduler/core/index.ts';
import { eachOf, LruCache } from '../../kit/index.ts';
import type { PinnedFile } from '../plan/index.ts';
import { isBelow } from './roots.ts';

/** What identifies a file. */
export type Pin = Pick<PinnedFile, 'path' | 'bytes' | 'mtimeNs' | 'footer'>;

export interface CheckOptions {
  readonly signal: AbortSignal;
  /** Real paths; a file that resolves to outside of all of them is refused. Null for no limit. */
  readonly roots?: readonly string[] | null;
}

const FOOTER_BYTES = 64 * 1024;
/** Footers are read again only if the file has changed; this many are cached. */
const FOOTERS_MAX = 20_000;
/** Files examined at the same time: more would only wait for the disk. */
const AT_ONCE = 16;

export class Pins {
  /** By what the file system never gives twice: nothing else can set a file's change time. */
  readonly #footers: LruCache<string, string> = new LruCache({ max: FOOTERS_MAX });

  /**
   * Pins in the order of `paths`; `seen` has stats that were just taken, by index. Throws file system errors: see
   * `readFault`.
   */
  pinAll(
    paths: readonly string[],
    signal: AbortSignal,
    seen: readonly (BigIntStats | null)[] = [],
  ): Promise<readonly Pin[]> {
    return eachOf(paths, AT_ONCE, signal, (path, at) => this.#pin(path, seen[at] ?? null));
  }

  /** Throws `table_changed` if a file is not the one pinned, and `path_refused` if it must not be read. */
  async check(files: readonly Pin[], { signal, roots = null }: CheckOptions): Promise<void> {
    await eachOf(files, AT_ONCE, signal, async (file) => {
      if (roots !== null) await requireBelow(file.path, roots);
      const now = await this.#pin(file.path).catch((cause: unknown) => {
        throw changed(file.path, readFault(cause), cause);
      });
      const why = difference(file, now);
      if (why !== null) throw changed(file.path, why);
    });
  }

  async #pin(path: string, seen: BigIntStats | null = null): Promise<Pin> {
    const before = seen ?? (await stat(path, { bigint: true }));
    // Opening a pipe or a device would block.
    if (!before.isFile()) throw new NoFileError();
    const key = identity(before);
    const footer = this.#footers.get(key) ?? (await this.#read(path, before));
    this.#footers.set(key, footer);
    return { path, bytes: Number(before.size), mtimeNs: String(before.mtimeNs), footer };
  }

  async #read(path: string, before: BigIntStats): Promise<string> {
    const file = await open(path, 'r');
    try {
      const size = Number(before.size);
      const length = Math.min(FOOTER_BYTES, size);
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await file.read(bytes, 0, length, size - length);
      const after = await file.stat({ bigint: true });
      // Neither the old nor the new file: it is still being written.
      if (bytesRead < length || identity(after) !== identity(before)) throw new ChangingError();
      return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    } finally {
      await file.close();
    }
  }
}

class NoFileError extends Error {}
class ChangingError extends Error {}

function identity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}/${ino}/${size}/${mtimeNs}/${ctimeNs}`;
}

const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is a file',
  EACCES: 'this server may not read it',
  EPERM: 'this server may not read it',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  EIO: 'the disk reported an error',
};

/** Why a file cannot be read, as the end of a sentence. */
export function readFault(cause: unknown): string {
  if (cause instanceof NoFileError) return 'it is not a file';
  if (cause instanceof ChangingError) return 'it is still being written';
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  return FAULTS[code] ?? (code === '' ? 'it cannot be read' : `it cannot be read (${code})`);
}

function difference(then: Pin, now: Pin): string | null {
  if (then.bytes !== now.bytes) return `it had ${then.bytes} bytes and has ${now.bytes}`;
  if (then.mtimeNs !== now.mtimeNs) return 'it was modified';
  return then.footer === now.footer ? null : 'its footer is different';
}

function changed(path: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'table_changed',
    what: `${path} is not the file that the query was planned for: ${why}.`,
    todo: 'Submit the query again. Write new files under new names instead of changing old ones.',
    cause,
  });
}

async function requireBelow(path: string, roots: readonly string[]): Promise<void> {
  const real = await realpath(path).catch((cause: unknown) => {
    throw changed(path, readFault(cause), cause);
  });
  if (roots.some((root) => isBelow(real, root))) return;
  throw new MillraceError({
    code: 'path_refused',
    what: `${path} is a link to a file outside of the folders that may be read here.`,
    todo: 'Start the node with --root for that folder, or move the file.',
  });
}
