import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { openDuckdbStore, openPostgresStore } from '../../src/scheduler/store/index.ts';
import { VirtualClock } from '../rig/virtual-clock.ts';
import { lead } from '../rig/lead.ts';
import { freshDatabase } from '../rig/postgres.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function millrace(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/millrace.js', ...args], {
    encoding: 'utf8',
    // A command that hangs would hold up this process too, its test timeout included.
    timeout: 60_000,
  });
  return { code: status, out: stdout, err: stderr };
}

/** A store with a job in it. */
async function filled(data: string): Promise<void> {
  const store = await openDuckdbStore({ path: join(data, 'millrace.duckdb'), migrate: true });
  const { leader } = await lead(store, new VirtualClock());
  const document = { name: 'kept', tasks: [{ id: 'a', executor: 'echo', input: { x: 'ü' } }] };
  await leader.jobs.submit(document, { jobId: 'kept' as JobId });
  await store.close();
}

test('a store moves from DuckDB to PostgreSQL and back, and nothing is lost', async () => {
  await filled(folder);
  const database = await freshDatabase();
  try {
    const first = join(folder, 'first.ndjson');
    const second = join(folder, 'second.ndjson');
    expect(millrace('export', first, '--data', folder).code).toBe(0);
    const moved = millrace('import', first, '--database', database.url, '--json');
    expect(moved).toMatchObject({ code: 0 });
    expect(JSON.parse(moved.out)).toMatchObject({ store: 'postgres' });
    expect(millrace('export', second, '--database', database.url).code).toBe(0);
    expect(readFileSync(second, 'utf8')).toBe(readFileSync(first, 'utf8'));
    const store = await openPostgresStore({ url: database.url });
    expect((await store.jobRow(0, 'kept' as JobId))?.name).toBe('kept');
    await store.close();
    const again = millrace('import', first, '--database', database.url);
    expect(again).toMatchObject({ code: 1 });
    expect(again.err).toContain('not empty');
  } finally {
    await database.drop();
  }
});

test('a damaged export is refused with its line, and no store is left behind', async () => {
  await filled(folder);
  const file = join(folder, 'x.ndjson');
  millrace('export', file, '--data', folder);
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, lines.toSpliced(2, 1).join('\n'));
  const target = join(folder, 'other');
  const refused = millrace('import', file, '--data', target);
  expect(refused.code).toBe(2);
  expect(refused.err).toMatch(/line \d+: /);
  expect(readdirSync(target)).toEqual([]);
});

test('a refused import leaves a store that was there before', async () => {
  await filled(folder);
  const file = join(folder, 'x.ndjson');
  millrace('export', file, '--data', folder);
  expect(millrace('import', file, '--data', folder).code).toBe(1);
  const store = await openDuckdbStore({ path: join(folder, 'millrace.duckdb') });
  expect((await store.jobRow(0, 'kept' as JobId))?.name).toBe('kept');
  await store.close();
});

test.each([
  ['an empty file', ''],
  ['another text', '# Millrace\n'],
  ['other JSON', '{"format":"other"}\n'],
  ['null', 'null\n'],
])('%s is not an export, and no store is made for it', (_name, text) => {
  const file = join(folder, 'x.ndjson');
  const target = join(folder, 'other');
  writeFileSync(file, text);
  const { code, err } = millrace('import', file, '--data', target);
  expect(code).toBe(2);
  expect(err).toContain('is not a valid export');
  expect(existsSync(target)).toBe(false);
});

test.each(['status', 'down'])('migrate %s does not make a store', (way) => {
  const target = join(folder, 'none');
  const { code, err } = millrace('migrate', way, '--data', target);
  expect(code).toBe(2);
  expect(err).toContain('No store exists');
  expect(existsSync(target)).toBe(false);
});

test('migrate shows, makes and takes back the tables', () => {
  const status = () => {
    const { out } = millrace('migrate', 'status', '--data', folder, '--json');
    return JSON.parse(out) as { store: string; current: number; latest: number; pending: string[] };
  };
  expect(millrace('migrate', 'up', '--data', folder).code).toBe(0);
  expect(status()).toMatchObject({ store: 'duckdb', current: status().latest, pending: [] });
  expect(millrace('migrate', 'down', '--to', '0', '--data', folder).code).toBe(0);
  expect(status()).toMatchObject({ current: 0 });
});

test.each([
  [['migrate', 'sideways'], 'up, down or status'],
  [['migrate', 'up', '--to', 'x'], 'version number'],
  [['export', 'x', '--database', 'mysql://nope'], 'not a PostgreSQL URL'],
  [['export', 'x', '--database', 'postgres://a@b/c', '--data', '.'], 'cannot be combined'],
  [['export', 'x', '--data', 'no/such/folder'], 'No store exists'],
  [['import', 'no/such/file'], 'does not exist'],
  [['import', tmpdir(), '--data', 'no'], 'is a folder'],
  [['import', 'README.md/x', '--data', 'no'], 'a component of its path is not a folder'],
  [['export', 'no/such/x', '--data', 'no'], 'Folder no/such does not exist'],
  [['export', tmpdir(), '--data', 'no'], 'is a folder'],
  [['migrate', 'up', '--data', 'README.md'], 'Cannot use README.md as the folder of a store'],
  [['migrate', 'up', '--data', 'README.md/x'], 'Cannot use README.md/x as the folder of a store'],
])('wrong use of %j is reported in a sentence', (args, sentence) => {
  const { code, err } = millrace(...args);
  expect(code).toBe(2);
  expect(err).toContain(sentence);
  expect(err).not.toMatch(/ {4}at |\bE[A-Z]{4,}\b/);
  expect(existsSync('no')).toBe(false);
});

test('an unreachable database is reported with exit code 3', () => {
  const { code, err } = millrace('migrate', 'status', '--database', 'postgres://x@127.0.0.1:1/x');
  expect(code).toBe(3);
  expect(err).not.toContain('    at ');
});
