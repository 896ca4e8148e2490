/** Hive partition folders: `year=2024/month=1/`. */
import { sep } from 'node:path';

/** The keys in the folders of all files; empty if they differ between files. */
export function hiveKeys(paths: readonly string[]): readonly string[] {
  const [first, ...others] = paths.map(keysIn);
  if (first === undefined || first.size === 0) return [];
  const isShared = others.every(
    (keys) => keys.size === first.size && [...keys].every((key) => first.has(key)),
  );
  return isShared ? [...first].toSorted() : [];
}

function keysIn(path: string): ReadonlySet<string> {
  const folders = path.split(sep).slice(0, -1);
  const keys = folders.flatMap((folder) => /^([^=?]+)=[^?]*$/.exec(folder)?.[1] ?? []);
  return new Set(keys);
}
