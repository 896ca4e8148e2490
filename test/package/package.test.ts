import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

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
  expect(files.filter((path) => /^(dist\/rig|src|test)\//.test(path))).toEqual([]);
});
