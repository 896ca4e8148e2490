/** The files of a call, as its process opens them. */
import type { PinnedFile } from '../../plan/index.ts';
import type { OpenFile } from '../messages.ts';

/** Each path once. */
export function openFiles(
  files: readonly Pick<PinnedFile, 'path' | 'bytes' | 'mtimeNs' | 'footer'>[],
): readonly OpenFile[] {
  const pins = files.map(
    ({ path, bytes, mtimeNs, footer }) => [path, `${bytes} ${mtimeNs} ${footer}`] as const,
  );
  return [...new Map(pins)].map(([path, pin]) => ({ path, pin }));
}
