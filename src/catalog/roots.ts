/**
 * What may be read at all. With roots: what really lies below one of them. Without: on a server that only this
 * machine reaches, exactly what somebody names; on another one, nothing.
 */
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MillraceError } from '../core/index.ts';

export interface Root {
  /** As it was given, made absolute. */
  readonly named: string;
  /** Without links. */
  readonly real: string;
}

/** `named`: whatever is named. `nothing`: no file. */
export type Allowed = 'named' | 'nothing' | { readonly roots: readonly Root[] };

/** A file that may be read: the path that it is opened by, and the root that it lies below. */
export interface AllowedFile {
  readonly path: string;
  readonly root: string | null;
}

export function isBelow(path: string, folder: string): boolean {
  if (path === folder) return true;
  return path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** Throws `bad_setting` for a root that is not there. */
export async function allowedPaths(
  roots: readonly string[],
  isLoopback: boolean,
): Promise<Allowed> {
  if (roots.length === 0) return isLoopback ? 'named' : 'nothing';
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
  return { roots: await Promise.all(roots.map(read)) };
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
  throw outside(path, allowed.roots);
}

/** After links are followed. */
export async function checkedFile(path: string, allowed: Allowed): Promise<AllowedFile> {
  if (allowed === 'named') return { path, root: null };
  if (allowed === 'nothing') throw noRoot();
  const real = await realpath(path);
  const root = allowed.roots.find((root) => isBelow(real, root.real) && isBelow(path, root.real));
  if (root === undefined) throw outside(path, allowed.roots);
  return { path, root: root.real };
}

function noRoot(): MillraceError {
  return new MillraceError({
    code: 'path_refused',
    what: 'This server reads no files: others can reach it, and it has no root.',
    todo: 'Start it with --root DIR for each folder that queries may read.',
  });
}

function outside(path: string, roots: readonly Root[]): MillraceError {
  const named = roots.map(({ named }) => named).join(', ');
  return new MillraceError({
    code: 'path_refused',
    what: `${path} does not lie below a root of this server.`,
    why: `Its roots are ${named}.`,
    todo: isAbsolute(path) ? 'Name a path below one of them.' : 'Name an absolute path.',
  });
}
