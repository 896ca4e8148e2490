/**
 * What may be read at all. With roots: what really lies below one of them. Without: where only the server's own
 * user is let in, exactly what he names; on another server of this machine, the working folder; elsewhere nothing.
 */
import type { BigIntStats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface Root {
  /** As it was given, made absolute. */
  readonly named: string;
  /** Without links. */
  readonly real: string;
}

/** `named`: whatever is named. `nothing`: no file. */
export type Allowed =
  | 'named'
  | 'nothing'
  | {
      readonly roots: readonly Root[];
      /** Nobody has given them: workers have no such root, and none is asked of them. */
      readonly isDefault: boolean;
    };

/** A file that may be read: the path that it is opened by, and the root that it lies below. */
export interface AllowedFile {
  readonly path: string;
  readonly root: string | null;
}

export function isBelow(path: string, folder: string): boolean {
  if (path === folder) return true;
  return path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** What is allowed where no root is given. */
export type WithoutRoots = 'named' | 'nothing' | { readonly folder: string };

/** Throws `bad_setting` for a root that is not there. */
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
        what: `The root ${root} is not there.`,
        todo: 'Make the folder, or name another one with --root.',
        cause,
      });
    });
    return { named, real };
  };
  return { roots: await Promise.all(roots.map(read)), isDefault };
}

/** Before anything is looked at: whether the path, or the fixed beginning of a pattern, may be read.
 * Answers the path to look at. */
export function checkedPath(path: string, allowed: Allowed): string {
  if (allowed === 'named') return path;
  if (allowed === 'nothing') throw noRoot();
  for (const { named, real } of allowed.roots) {
    if (isBelow(path, real)) return path;
    // Below the real folder, so that whoever is limited to that can open it.
    if (isBelow(path, named)) return join(real, relative(named, path));
  }
  throw outside(path, allowed);
}

/** A file that was looked at. */
export interface SeenFile extends AllowedFile {
  /** Of the file itself; null when a link leads to it, or nobody has seen it. */
  readonly stats: BigIntStats | null;
}

/** PathChecker at the files of one request: once at each, and once at each folder. */
export class PathChecker {
  readonly allowed: Allowed;
  readonly #folders: Map<string, Promise<string | null>> = new Map();

  constructor(allowed: Allowed) {
    this.allowed = allowed;
  }

  /** After links are followed. `seen` is what somebody has seen of it just now. */
  async checkedFile(path: string, seen: BigIntStats | null): Promise<SeenFile> {
    const { allowed } = this;
    if (allowed === 'nothing') throw noRoot();
    const stats = seen ?? (await fileStats(path));
    if (allowed === 'named') return { path, root: null, stats };
    // What is no link itself lies where its folder does.
    const folder = stats === null ? null : await this.#realFolder(dirname(path));
    const real = folder === null ? await realpath(path) : join(folder, basename(path));
    const root = allowed.roots.find((root) => isBelow(real, root.real) && isBelow(path, root.real));
    if (root === undefined) throw outside(path, allowed);
    return { path, root: allowed.isDefault ? null : root.real, stats };
  }

  #realFolder(folder: string): Promise<string | null> {
    // Whoever gets none asks for the file, and is told what is wrong with that.
    const known = this.#folders.get(folder) ?? realpath(folder).catch(() => null);
    this.#folders.set(folder, known);
    return known;
  }
}

/** Null for anything but a plain file. */
async function fileStats(path: string): Promise<BigIntStats | null> {
  const stats = await lstat(path, { bigint: true }).catch(() => null);
  return stats?.isFile() === true ? stats : null;
}

function noRoot(): MillraceError {
  return new MillraceError({
    code: 'path_refused',
    what: 'This server reads no files: others can reach it, and it has no root.',
    todo: 'Start it with --root DIR for each folder that queries may read.',
  });
}

function outside(path: string, { roots, isDefault }: Exclude<Allowed, string>): MillraceError {
  const named = roots.map(({ named }) => named).join(', ');
  const elsewhere = isDefault ? ', or start the server with --root DIR' : '';
  return new MillraceError({
    code: 'path_refused',
    what: `${path} does not lie below a root of this server.`,
    why: isDefault
      ? `Others are let in here and no root is set, so it reads its working folder, ${named}.`
      : `Its roots are ${named}.`,
    todo: isAbsolute(path)
      ? `Name a path below one of them${elsewhere}.`
      : 'Name an absolute path.',
  });
}
