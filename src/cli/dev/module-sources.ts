/** The files of a module: itself and what it imports from its folder and those below. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';

/** Text and not syntax: an import in a comment costs a file that is watched for nothing. */
const IMPORT = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;
const ENDINGS = ['', '.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json'];
/** TypeScript is imported under the name that it will have as JavaScript. */
const TWINS: Readonly<Record<string, string>> = { '.js': '.ts', '.mjs': '.mts', '.cjs': '.cts' };
const FILES_MAX = 5_000;

/** Each file with what it holds, as a digest; a file that is gone has none. */
export function moduleSources(modules: readonly string[]): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  const roots = modules.map((file) => `${dirname(resolve(file))}${sep}`);
  const open = modules.map((file) => resolve(file));
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (sources.has(file) || sources.size >= FILES_MAX) continue;
    const text = textOf(file);
    sources.set(file, text === null ? '' : createHash('sha256').update(text).digest('hex'));
    if (text === null || file.endsWith('.json')) continue;
    for (const [, , name = ''] of text.matchAll(IMPORT)) {
      const found = resolved(join(dirname(file), name));
      const isOurs = found !== null && !found.includes(`${sep}node_modules${sep}`);
      if (isOurs && roots.some((root) => found.startsWith(root))) open.push(found);
    }
  }
  return sources;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function resolved(path: string): string | null {
  const twin = Object.entries(TWINS).find(([ending]) => path.endsWith(ending));
  const candidates = [
    ...ENDINGS.map((ending) => path + ending),
    ...(twin === undefined ? [] : [path.slice(0, -twin[0].length) + twin[1]]),
    ...ENDINGS.slice(1).map((ending) => join(path, `index${ending}`)),
  ];
  return candidates.find((each) => existsSync(each) && statSync(each).isFile()) ?? null;
}
