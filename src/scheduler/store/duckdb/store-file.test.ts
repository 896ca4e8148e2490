/** A file that DuckDB has given up is opened again. A full disk brings that about in test/cluster/full-disk.release.test.ts. */
import { closeSync, linkSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StoreFile } from './store-file.ts';

const INVALIDATED = new Error(
  'FATAL Error: database has been invalidated because of a previous fatal error.',
);

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-store-file-'));
  path = join(folder, 'data', 'store.db');
  mkdirSync(join(folder, 'data'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function opened(): Promise<{ file: StoreFile; prepared: () => number }> {
  let prepared = 0;
  const prepare = async (): Promise<void> => void (prepared += 1);
  const file = await StoreFile.open({ path, logBytes: undefined, prepare });
  return { file, prepared: () => prepared };
}

test('a file that was given up is opened and prepared again, with what was committed', async () => {
  const { file, prepared } = await opened();
  await file.opened.writer.script('create table t as select 7 as x');
  expect(file.repaired).toBeNull();
  expect(file.failed(new Error('something else'))).toMatchObject({ code: 'store_unavailable' });
  expect(file.repaired).toBeNull();
  const before = file.opened;
  expect(file.failed(INVALIDATED)).toMatchObject({ code: 'store_unavailable' });
  await Promise.all([file.repaired, file.repaired]);
  expect(file.opened).not.toBe(before);
  expect(prepared()).toBe(2);
  expect(await file.opened.reader.rows('select x from t')).toEqual([[7]]);
  await file.close();
  expect(() => file.opened).toThrow('The store is closed.');
});

test('an opening that fails is not tried again at once, and callers get the reason of the failure', async () => {
  const { file } = await opened();
  const data = join(folder, 'data');
  file.failed(INVALIDATED);
  renameSync(data, `${data}-away`);
  await expect(file.repaired).rejects.toMatchObject({ code: 'bad_setting' });
  renameSync(`${data}-away`, data);
  await expect(file.repaired).rejects.toMatchObject({ code: 'bad_setting' });
  await file.close().catch(() => {});
});

test.each([
  ['its name', (file: string) => file],
  ['a hard link', (file: string) => linkBeside(file)],
])('a file that another thread of the process has open, by %s, is refused', async (_, named) => {
  const { file } = await opened();
  await file.close();
  // What a process has open is open in all its threads.
  const other = openSync(named(path), 'r');
  await expect(opened()).rejects.toMatchObject({
    code: 'store_locked',
    what: expect.stringContaining('is already open in this process') as string,
  });
  closeSync(other);
  await (await opened()).file.close();
});

function linkBeside(file: string): string {
  const link = `${file}-link`;
  linkSync(file, link);
  return link;
}
