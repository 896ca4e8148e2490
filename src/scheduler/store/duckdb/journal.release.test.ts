/** Commits that are in the journal and not in the tables: through crashes, damage, full disks and migrations. */
import {
  appendFileSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { type FileHandle, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { contentOf } from '../../../../test/rig/conformance/moving.ts';
import { aJob, aSpec, aTask, jobId, succeeded } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { journaled } from '../journal/journaled-store.ts';
import type { JournalTables } from '../journal/port.ts';
import type { Store } from '../store.ts';
import { openDuckdbStore, openTables } from './duckdb.ts';
import { migrateDuckdb } from './migrate.ts';

let folder = '';
let path = '';
const stores: Store[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-journal-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of stores.splice(0)) await store.close();
  await rm(folder, { recursive: true });
});

async function opened(at: string = path): Promise<Store> {
  // Folded only when a test reads what needs it, however slow the machine is.
  const store = await openDuckdbStore({ path: at, foldAfterMs: 3_600_000 });
  stores.push(store);
  return store;
}

/** A leader with `jobs` jobs that no table has. */
async function ahead(jobs: number): Promise<{ store: Store; leader: TestLeader }> {
  const store = await opened();
  const leader = await TestLeader.of(store, 0);
  for (let no = 1; no <= jobs; no += 1) await submit(leader, no);
  return { store, leader };
}

async function lead(store: Store): Promise<TestLeader> {
  const leader = await TestLeader.of(store, 0);
  const { commitNo, lastSeq, nextJobNo } = await store.loadCluster(0);
  return Object.assign(leader, { commitNo, lastSeq, nextJobNo });
}

const submit = (leader: TestLeader, no: number): Promise<unknown> =>
  leader.submit(aJob(no), [aSpec(no, 0, { input: `"${'é'.repeat(100)}"` })], [aTask(no, 0)]);

/** What a crash at this moment would leave behind. */
function crashed(name = 'copy'): string {
  const copy = join(folder, `${name}.db`);
  for (const file of readdirSync(folder)) {
    const [, suffix] = /^store\.db(\.wal|\.journal-\d|)$/.exec(file) ?? [];
    if (suffix !== undefined) copyFileSync(join(folder, file), `${copy}${suffix}`);
  }
  return copy;
}

const numbersIn = async (store: Store): Promise<number[]> =>
  (await store.jobs(0, { limit: 99 })).map(({ no }) => no).toSorted((a, b) => a - b);

test('after a crash everything that was acknowledged is there, and the numbers go on', async () => {
  await ahead(5);
  const store = await opened(crashed());
  const leader = await lead(store);
  expect(await numbersIn(store)).toEqual([1, 2, 3, 4, 5]);
  await submit(leader, 6);
  expect((await store.jobRow(0, jobId('job-6')))?.no).toBe(6);
  expect((await store.events(0, 0, 99)).map(({ seq }) => seq)).toEqual(
    Array.from({ length: leader.lastSeq }, (_, at) => at + 1),
  );
});

test('a dump of a store that nobody leads has what is only in the journal', async () => {
  const { store } = await ahead(3);
  const copy = await opened(crashed());
  expect(await contentOf(copy)).toEqual(await contentOf(store));
});

test('a line that was cut off anywhere is dropped, and it alone', async () => {
  await ahead(3);
  const copy = crashed();
  const journal = readFileSync(`${copy}.journal-0`);
  const start = journal.lastIndexOf('\n', journal.length - 2) + 1;
  const cuts = [start, start + 1, start + 12, Math.floor((start + journal.length) / 2)];
  for (const length of [...cuts, journal.length - 1]) {
    const torn = crashed(`cut-${length}`);
    truncateSync(`${torn}.journal-0`, length);
    const store = await opened(torn);
    const leader = await lead(store);
    expect(await numbersIn(store)).toEqual([1, 2]);
    await submit(leader, 3);
    expect(await numbersIn(store)).toEqual([1, 2, 3]);
  }
});

test('a tail of zeros, as some file systems leave it after a power failure, is dropped', async () => {
  await ahead(2);
  const copy = crashed();
  appendFileSync(`${copy}.journal-0`, Buffer.alloc(4096));
  expect(await numbersIn(await opened(copy))).toEqual([1, 2]);
});

test('damage in the middle, a missing part and a missing file are refused, and all stays as it is', async () => {
  await ahead(4);
  const copy = crashed();
  const journal = `${copy}.journal-0`;
  const whole = await readFile(journal, 'utf8');
  const lines = whole.split('\n');
  const flipped = Buffer.from(whole);
  flipped[200] = (flipped[200] ?? 0) ^ 1;
  for (const bad of [flipped, Buffer.from(lines.slice(1).join('\n'))]) {
    await writeFile(journal, bad);
    await expect(openDuckdbStore({ path: copy })).rejects.toMatchObject({
      code: 'store_unavailable',
      what: expect.stringMatching(/is damaged/) as string,
    });
    expect(await readFile(journal)).toEqual(bad);
  }
  await rm(copy);
  await rm(`${copy}.wal`, { force: true });
  await expect(openDuckdbStore({ path: copy })).rejects.toMatchObject({
    what: expect.stringMatching(/journal-0 is there, but the file itself is missing/) as string,
  });
  expect(statSync(journal).size).toBeGreaterThan(0);
});

test('a clean end leaves the journal empty', async () => {
  const { store } = await ahead(2);
  expect(readdirSync(folder).filter((name) => name.includes('journal'))).not.toHaveLength(0);
  await store.close();
  stores.pop();
  expect(readdirSync(folder)).toEqual(['store.db']);
});

/** Makes the next call of a method of file handles fail, before or after it was done. */
async function failNext(method: 'write' | 'datasync', code: string): Promise<void> {
  const handle = await open(join(folder, 'other'), 'w');
  const handles = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const failure = Object.assign(new Error(`${code}: no space left on device, ${method}`), { code });
  vi.spyOn(handles, method).mockRejectedValueOnce(failure);
}

test('a commit that finds the disk full changes nothing, and the next one is taken', async () => {
  const { store, leader } = await ahead(1);
  await failNext('write', 'ENOSPC');
  await expect(submit(leader, 2)).rejects.toMatchObject({
    code: 'store_unavailable',
    what: 'The disk of the DuckDB file is full.',
  });
  expect(await store.jobRow(0, jobId('job-2'))).toBeNull();
  await submit(leader, 2);
  expect(await numbersIn(store)).toEqual([1, 2]);
  expect(await numbersIn(await opened(crashed()))).toEqual([1, 2]);
});

test('a commit that may not have reached the disk has an unknown outcome until a new term begins', async () => {
  const { store, leader } = await ahead(1);
  await failNext('datasync', 'EIO');
  await expect(submit(leader, 2)).rejects.toMatchObject({ code: 'outcome_unknown' });
  await expect(submit(leader, 2)).rejects.toMatchObject({ code: 'store_unavailable' });
  await store.resign(leader.term);
  const next = await lead(store);
  expect(await numbersIn(store)).toEqual([1, 2]);
  await submit(next, 3);
  expect(await numbersIn(await opened(crashed()))).toEqual([1, 2, 3]);
});

test('a leader that was deposed while its commit was on the way is refused', async () => {
  const { store, leader } = await ahead(1);
  await store.resign(leader.term);
  const next = await lead(store);
  await expect(submit(leader, 2)).rejects.toMatchObject({ code: 'deposed' });
  await submit(next, 2);
  expect(await numbersIn(store)).toEqual([1, 2]);
});

/** A leader that commits so often that folds leave out what goes on. */
async function busy(): Promise<{
  leader: TestLeader;
  tables: JournalTables;
  round: () => Promise<void>;
}> {
  const clock = new VirtualClock();
  const tables = await openTables({ path });
  const folds = vi.spyOn(tables, 'fold');
  const store = journaled(tables, {
    clock,
    foldAfterMs: 1_000,
    foldWhenQuietMs: 50,
    defersJobs: true,
  });
  stores.push(store);
  const leader = await TestLeader.of(store, 0);
  const round = async (): Promise<void> => {
    for (let spent = 0; spent < 1_200; spent += 40) {
      await leader.commit({ events: [{}] });
      await clock.advance(40);
    }
    await Promise.all(folds.mock.results.map(({ value }) => value as unknown));
  };
  return { leader, tables, round };
}

test('jobs that a fold has left out are there after a crash, and on the way down', async () => {
  const { leader, tables, round } = await busy();
  for (const no of [1, 2]) await submit(leader, no);
  await round();
  const jobs = (): Promise<readonly unknown[]> => tables.jobs(0, { limit: 9 });
  expect(await jobs()).toEqual([]);
  const { foldedNo, settledNo } = await tables.journalState(0);
  expect(settledNo).toBe(0);
  expect(foldedNo).toBeGreaterThan(2);
  const store = await opened(crashed('next'));
  expect((await store.job(0, jobId('job-2')))?.job).toEqual(aJob(2));
  await submit(await lead(store), 3);
  expect(await numbersIn(store)).toEqual([1, 2, 3]);
  await migrateDuckdb({ path: crashed('down') }, (migrations) => migrations.down(11));
  expect(await numbersIn(await opened(join(folder, 'down.db')))).toEqual([1, 2]);
  // Once it has ended, a job is written in its last form.
  const row = succeeded(1, 0);
  const ended = { ...aJob(1), state: 'succeeded' as const, finishedAt: row.finishedAt };
  await leader.commit({ jobUpdates: [ended], taskUpdates: [row] });
  await round();
  expect(await jobs()).toEqual([ended]);
});

test('a migration down brings the journal into the tables first', async () => {
  await ahead(3);
  const copy = crashed();
  const before = await migrateDuckdb({ path: copy }, (migrations) => migrations.status());
  const { current } = await migrateDuckdb({ path: copy }, (migrations) => migrations.down());
  expect(current).toBe(before.current - 1);
  expect(readdirSync(folder).filter((name) => name.startsWith('copy.db.journal'))).toEqual([]);
  expect(await numbersIn(await opened(copy))).toEqual([1, 2, 3]);
});
