import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly (string | null)[];
}

let packedOnce: readonly string[] | null = null;

/** What a user gets, without building anything. */
function packedFiles(): readonly string[] {
  packedOnce ??= listPacked();
  return packedOnce;
}

function listPacked(): readonly string[] {
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
  const ofDevelopers = /^(dist\/rig|src|test|scripts|bench)\/|^dist\/.*\.test\.|\.tsbuildinfo$/;
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

/** A project with what `npm install` of the tarball puts into it: the package, and nothing but its dependencies. */
function installed(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const args = ['pack', '--ignore-scripts', '--pack-destination', folder];
  execFileSync('npm', args, { cwd: ROOT, stdio: 'pipe' });
  const own = join(folder, 'node_modules', 'millrace');
  mkdirSync(own, { recursive: true });
  const tarball = join(folder, `millrace-${manifest.version}.tgz`);
  execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  const ofExamples = ['zod', 'pg', '@types/pg', '@types/node', 'typescript'];
  const ofTraces = Object.keys(manifest.devDependencies).filter((name) =>
    name.startsWith('@opentelemetry/'),
  );
  for (const name of [...Object.keys(manifest.dependencies), ...ofExamples, ...ofTraces]) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), path);
  }
  // A copy, as a reader would make one.
  cpSync(join(own, 'examples'), join(folder, 'examples'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  return folder;
}

const RESOLUTIONS = [
  { module: 'node16', moduleResolution: 'node16' },
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

test('the examples compile with every kind of resolution, and run, from the tarball alone', () => {
  const folder = installed();
  const run = (...args: string[]): string =>
    execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 120_000 });
  for (const resolution of RESOLUTIONS) {
    const compilerOptions = {
      ...{ ...resolution, target: 'es2023', lib: ['es2023', 'esnext.disposable'], types: ['node'] },
      ...{ strict: true, noEmit: true, skipLibCheck: false, allowImportingTsExtensions: true },
    };
    const exclude = ['**/*.test.ts'];
    const config = { compilerOptions, include: ['examples/**/*.ts'], exclude };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    // It prints what it does not understand.
    expect(run('node_modules/typescript/bin/tsc', '-p', '.')).toBe('');
  }
  const bin = join('node_modules', 'millrace', manifest.bin.millrace);
  expect(run(bin, '--version')).toContain(manifest.version);
  const tsx = 'node_modules/tsx/dist/cli.mjs';
  expect(run(tsx, 'examples/order-processing/main.ts', 'A-1')).toContain("receipt: 'receipt-A-1'");
}, 300_000);
