import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { JobId } from '../src/core/index.ts';
import { openDuckdbStore, openPostgresStore } from '../src/store/index.ts';
import { VirtualClock } from '../src/testing/virtual-clock.ts';
import { lead } from '../src/testing/lead.ts';
import { freshDatabase } from './fixture/postgres.ts';

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

test('a damaged export is refused with its line, and nothing is stored', async () => {
  await filled(folder);
  const file = join(folder, 'x.ndjson');
  millrace('export', file, '--data', folder);
  const lines = readFileSync(file, 'utf8').split('\n');
  writeFileSync(file, lines.toSpliced(2, 1).join('\n'));
  const target = join(folder, 'other');
  const refused = millrace('import', file, '--data', target);
  expect(refused.code).toBe(2);
  const store = await openDuckdbStore({ path: join(target, 'millrace.duckdb') });
  expect(await store.jobs(0, { limit: 10 })).toEqual([]);
  await store.close();
});

test('migrate shows, makes and takes back the tables', () => {
  const status = () => {
    const { out } = millrace('migrate', 'status', '--data', folder, '--json');
    return JSON.parse(out) as { store: string; current: number; latest: number; pending: string[] };
  };
  expect(status()).toMatchObject({ store: 'duckdb', current: 0 });
  expect(millrace('migrate', 'up', '--data', folder).code).toBe(0);
  expect(status()).toMatchObject({ current: status().latest, pending: [] });
  expect(millrace('migrate', 'down', '--to', '0', '--data', folder).code).toBe(0);
  expect(status()).toMatchObject({ current: 0 });
});

test.each([
  [['migrate', 'sideways'], 'up, down or status'],
  [['migrate', 'up', '--to', 'x'], 'version number'],
  [['export', 'x', '--database', 'mysql://nope'], 'not a PostgreSQL URL'],
  [['export', 'x', '--database', 'postgres://a@b/c', '--data', '.'], 'two different stores'],
  [['export', 'x', '--data', 'no/such/folder'], 'There is no store'],
  [['import', 'no/such/file'], 'There is no file'],
])('wrong use of %j is told in a sentence', (args, sentence) => {
  const { code, err } = millrace(...args);
  expect(code).toBe(2);
  expect(err).toContain(sentence);
  expect(err).not.toContain('    at ');
  expect(existsSync('no')).toBe(false);
});

test('a database that is not there is told with exit code 3', () => {
  const { code, err } = millrace('migrate', 'status', '--database', 'postgres://x@127.0.0.1:1/x');
  expect(code).toBe(3);
  expect(err).not.toContain('    at ');
});
