/**
 * Which files may be read. With roots: those whose real path is below one of them. Without roots: any named file if
 * only the server's own user has access; the working folder if other users of this machine have access; otherwise
 * none.
 */
import type { BigIntStats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface Root {
  /** As given, made absolute. */
  readonly named: string;
  /** With symbolic links resolved. */
  readonly real: string;
}

/** `named`: any file that is named. `nothing`: no file. */
export type Allowed =
  | 'named'
  | 'nothing'
  | {
      readonly roots: readonly Root[];
      /**
       * The working folder, because no root was given: workers do not offer it as a root, and tasks do not require
       * it.
       */
      readonly isDefault: boolean;
    };

/** A file that may be read: the path to open it by, and its root. */
export interface AllowedFile {
  readonly path: string;
  readonly root: string | null;
}

export function isBelow(path: string, folder: string): boolean {
  if (path === folder) return true;
  return path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** What is allowed if no root is given. */
export type WithoutRoots = 'named' | 'nothing' | { readonly folder: string };

/** Throws `bad_setting` for a root that does not exist. */
export async function allowedPaths(
  given: readonly string[],
  without: WithoutRoots,
): Promise<Allowed> {
  const isDefault = given.length === 0;
  if (isDefault && typeof without === 'string') return without;
  const roots = isDefault && typeof without === 'object' ? [without.folder] : given;
  const read = async (root: string): Promise<Root> => {
    const named = resolve(root);
    const real = await realpath(named).catch((cause: unknown) => {
      throw new MillraceError({
        code: 'bad_setting',
        what: `The root ${root} does not exist.`,
        todo: 'Create the folder, or name another one with --root.',
        cause,
      });
    });
    return { named, real };
  };
  return { roots: await Promise.all(roots.map(read)), isDefault };
}

/** Checks the path, or the fixed beginning of a pattern, before anything is examined. Returns the path to examine. */
export function checkedPath(path: string, allowed: Allowed): string {
  if (allowed === 'named') return path;
  if (allowed === 'nothing') throw noRoot();
  for (const { named, real } of allowed.roots) {
    if (isBelow(path, real)) return path;
    // Below the real folder, so that a process that is limited to the root can open it.
    if (isBelow(path, named)) return join(real, relative(named, path));
  }
  throw outside(path, allowed);
}

/** A file that was examined. */
export interface SeenFile extends AllowedFile {
  /** Of the file itself; null if it is a symbolic link, or was not examined. */
  readonly stats: BigIntStats | null;
}

/** Examines the files of one request: each file and each folder once. */
export class PathChecker {
  readonly allowed: Allowed;
  readonly #folders: Map<string, Promise<string | null>> = new Map();

  constructor(allowed: Allowed) {
    this.allowed = allowed;
  }

  /** Checks a file after resolving links. `seen` has stats that were just taken. */
  async checkedFile(path: string, seen: BigIntStats | null): Promise<SeenFile> {
    const { allowed } = this;
    if (allowed === 'nothing') throw noRoot();
    const stats = seen ?? (await fileStats(path));
    if (allowed === 'named') return { path, root: null, stats };
    // A file that is not a link is in the real path of its folder.
    const folder = stats === null ? null : await this.#realFolder(dirname(path));
    const real = folder === null ? await realpath(path) : join(folder, basename(path));
    const root = allowed.roots.find((root) => isBelow(real, root.real) && isBelow(path, root.real));
    if (root === undefined) throw outside(path, allowed);
    return { path, root: allowed.isDefault ? null : root.real, stats };
  }

  #realFolder(folder: string): Promise<string | null> {
    // On failure the caller examines the file itself, and reports what is wrong with it.
    const known = this.#folders.get(folder) ?? realpath(folder).catch(() => null);
    this.#folders.set(folder, known);
    return known;
  }
}

/** Returns null for anything but a regular file. */
async function fileStats(path: string): Promise<BigIntStats | null> {
  const stats = await lstat(path, { bigint: true }).catch(() => null);
  return stats?.isFile() === true ? stats : null;
}

function noRoot(): MillraceError {
  return new MillraceError({
    code: 'path_refused',
    what: 'This server reads no files, because other users can reach it and no root is set.',
    todo: 'Start it with --root DIR for each folder that queries may read.',
  });
}

function outside(path: string, { roots, isDefault }: Exclude<Allowed, string>): MillraceError {
  const named = roots.map(({ named }) => named).join(', ');
  const elsewhere = isDefault ? ', or start the server with --root DIR' : '';
  return new MillraceError({
    code: 'path_refused',
    what: `${path} is not below a root of this server.`,
    why: isDefault
      ? `Other users have access and no root is set, so only the working folder can be read: ${named}.`
      : `Its roots are ${named}.`,
    todo: isAbsolute(path)
      ? `Name a path below one of them${elsewhere}.`
      : 'Name an absolute path.',
  });
}
