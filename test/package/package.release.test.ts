import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly (string | null)[];
}

/** What a user gets, without building anything. */
function packedFiles(): readonly string[] {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const text = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
  const [packed] = JSON.parse(text) as [{ files: { path: string }[] }];
  return packed.files.map(({ path }) => path);
}

test('whatever the package promises is in it, and what it tests itself with is not', () => {
  const files = packedFiles();
  const promised = [
    ...Object.values(manifest.exports).flatMap((to) =>
      typeof to === 'string' ? [to] : Object.values(to),
    ),
    ...Object.values(manifest.bin),
  ].map((path) => path.replace(/^\.\//, ''));
  expect(files).toEqual(expect.arrayContaining(promised));
  expect(files.filter((path) => path.endsWith('.up.sql')).length).toBeGreaterThan(5);
  expect(files.filter((path) => path.endsWith('.proto')).length).toBeGreaterThan(5);
  const ofDevelopers = /^(dist\/rig|src|test|scripts|bench)\/|\.test\.|\.tsbuildinfo$/;
  expect(files.filter((path) => ofDevelopers.test(path))).toEqual([]);
});

test('every source map of the package carries its sources, and nothing refers to a map that is not there', () => {
  const files = packedFiles();
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const missing = files
    .filter((path) => /\.(js|d\.ts)$/.test(path))
    .filter((path) => {
      const map = /^\/\/# sourceMappingURL=(\S+)$/m.exec(read(path))?.[1];
      return map !== undefined && !files.includes(join(path, '..', map));
    });
  expect(missing).toEqual([]);
  const maps = files.filter((path) => path.endsWith('.map'));
  const withoutSources = maps.filter((path) => {
    const { sources, sourcesContent = [] } = JSON.parse(read(path)) as SourceMap;
    return sources.length !== sourcesContent.length || sourcesContent.includes(null);
  });
  expect(withoutSources).toEqual([]);
  expect(maps.length).toBeGreaterThan(100);
});
