/** The names under which a call sees its files. */
import { join } from 'node:path';
import type { Fault, Sandbox } from '../messages.ts';

let last = 0;

/** For each file a path in `folder` that no other call uses. */
export function linksIn(folder: string, files: readonly string[]): Sandbox['links'] {
  return files.map((path) => {
    last += 1;
    return { path, as: join(folder, `${last}.parquet`) };
  });
}

/** Replaces the linked paths in DuckDB's messages by the original ones. */
export function asNamed(fault: Fault, { links }: Sandbox): Fault {
  const named = (text: string): string =>
    links.reduce((said, { path, as }) => said.replaceAll(as, path), text);
  return {
    ...fault,
    what: named(fault.what),
    ...(fault.why === undefined ? {} : { why: named(fault.why) }),
  };
}
