import { readFileSync } from 'node:fs';
import { millraceVersion } from '../scheduler/contract/index.ts';

/** Beside the rooms in `dist`; the build writes it, and there is none in `src`. */
const BUILD = new URL('../build.json', import.meta.url);

/** `0.1.0 (commit 3ac985c81f2e)`; the version alone if the build does not know its commit. */
export function versionLine(build: URL = BUILD): string {
  const commit = commitIn(build);
  return commit === null ? millraceVersion() : `${millraceVersion()} (commit ${commit})`;
}

function commitIn(build: URL): string | null {
  try {
    const { commit } = JSON.parse(readFileSync(build, 'utf8')) as { readonly commit?: unknown };
    return typeof commit === 'string' ? commit : null;
  } catch {
    return null;
  }
}
