/** The names under which a call sees its files. */
import { join } from 'node:path';
import type { FileRange } from '../../plan/index.ts';
import type { Fault, Sandbox, SandboxLink } from '../messages.ts';

let last = 0;

/** For each file a path in `folder` that no other call uses. */
export function linksIn(folder: string, files: readonly string[]): Sandbox['links'] {
  return files.map((path) => {
    last += 1;
    return { path, as: join(folder, `${last}.parquet`) };
  });
}

/** The same for the lines that begin in a range of bytes. */
export function cutIn(folder: string, { path, from, to, bytes }: FileRange): SandboxLink {
  last += 1;
  return { path, as: join(folder, `${last}.txt`), bytes: { from: from ?? 0, to: to ?? bytes } };
}

/** Replaces the linked paths in DuckDB's messages by the original ones. */
export function asNamed(fault: Fault, { links }: Sandbox): Fault {
  const named = (text: string): string =>
    links.reduce((said, { path, as, bytes }) => {
      if (bytes === undefined || !said.includes(as)) return said.replaceAll(as, path);
      return `${said.replaceAll(as, path)} (Lines are counted from the first one after byte ${bytes.from}.)`;
    }, text);
  return {
    ...fault,
    what: named(fault.what),
    ...(fault.why === undefined ? {} : { why: named(fault.why) }),
  };
}
