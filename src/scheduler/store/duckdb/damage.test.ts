/** Files that lost a part of themselves: named at the opening, and left as they are. */
import { copyFileSync, existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, aTask } from '../../../../test/rig/conformance/rows.ts';
import { openDuckdbStore } from './duckdb.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-damage-'));
  path = join(folder, 'store.db');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A store with some content: `before` is called while its log is not folded in yet. */
async function makeStore(before: () => void = () => {}): Promise<void> {
  const store = await openDuckdbStore({ path });
  const leader = await TestLeader.of(store, 0);
  for (let no = 1; no <= 20; no += 1) {
    const input = `"${`${no}`.repeat(20_000)}"`;
    await leader.submit(aJob(no), [aSpec(no, 0, { input })], [aTask(no, 0)]);
  }
  // The tables follow the journal.
  await store.jobs(0, { limit: 1 });
  before();
  await store.close();
}

const DAMAGED = { code: 'store_unavailable', what: expect.stringMatching(/is damaged/) as string };

test('half a file is refused at the opening, by its size', async () => {
  await makeStore();
  const { size } = statSync(path);
  for (const part of [0.9, 0.5]) {
    const left = Math.floor(size * part);
    truncateSync(path, left);
    await expect(openDuckdbStore({ path })).rejects.toMatchObject(DAMAGED);
    // Refused, not repaired: what is left may be all that somebody has.
    expect(statSync(path).size).toBe(left);
  }
});

test('a log without its file is refused and stays', async () => {
  const log = join(folder, 'kept.wal');
  await makeStore(() => copyFileSync(`${path}.wal`, log));
  await rm(path);
  copyFileSync(log, `${path}.wal`);
  await expect(openDuckdbStore({ path })).rejects.toMatchObject({
    ...DAMAGED,
    what: expect.stringMatching(
      /store\.db is damaged: .*\.wal is there, but the file itself is missing/,
    ) as string,
  });
  expect(existsSync(path)).toBe(false);
  expect(readFileSync(`${path}.wal`)).toEqual(readFileSync(log));
});

test('a file that is whole opens, with its log and after it was folded in', async () => {
  const copy = join(folder, 'copy.db');
  await makeStore(() => {
    copyFileSync(path, copy);
    copyFileSync(`${path}.wal`, `${copy}.wal`);
  });
  for (const file of [copy, path]) {
    const store = await openDuckdbStore({ path: file });
    expect(await store.jobs(0, { limit: 99 })).toHaveLength(20);
    await store.close();
  }
});
