import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bytes, keep, openStore, QUERY, temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';
import { OutputStore } from './output-store.ts';

const listed = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

test('an output is there as a whole, and its files are named by partition and segment', async () => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(10), bytes(20, 2)], []]);
  expect(store.find({ query: QUERY, task: 's0.0', fence: 1 })).toBe(kept);
  expect(kept.parts.map((part) => [part.rows, part.bytes, part.segments.length])).toEqual([
    [20, 30, 2],
    [0, 0, 0],
  ]);
  expect(await listed(kept.folder)).toEqual(['0-0.parquet', '0-1.parquet']);
  expect(store.usage).toEqual({ outputs: 1, bytes: 30 });
});

test('a draft that is discarded leaves nothing, and nobody finds it', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(folder);
  const draft = await store.begin({ query: QUERY, task: 's0.0', fence: 1 });
  await writeFile(join(draft.folder, 'half'), 'half');
  expect(store.find({ query: QUERY, task: 's0.0', fence: 1 })).toBeNull();
  await draft.discard();
  await expect(access(draft.folder)).rejects.toThrow('ENOENT');
});

test('an attempt is committed once', async () => {
  const store = await openStore();
  const kept = await keep(store, 's0.0', [[bytes(10)]]);
  await expect(keep(store, 's0.0', [[bytes(11)]])).rejects.toMatchObject({ code: 'conflict' });
  expect(store.find({ query: QUERY, task: 's0.0', fence: 1 })).toBe(kept);
});

test.each([
  ['a query', { query: '../etc' as JobId, task: 's0.0', fence: 1 }],
  ['a task', { query: QUERY, task: '../../s0.0', fence: 1 }],
  ['a task of another kind', { query: QUERY, task: 'plan', fence: 1 }],
  ['a fence', { query: QUERY, task: 's0.0', fence: 1.5 }],
])('refuses %s that could lead elsewhere before it touches a path', async (_what, name) => {
  const store = await openStore();
  await expect(store.begin(name)).rejects.toMatchObject({ code: 'bad_input' });
});

test('an attempt that cannot be committed leaves no folder', async () => {
  const folder = await temporaryFolder();
  const store = await openStore(folder);
  const draft = await store.begin({ query: QUERY, task: 's0.0', fence: 1 });
  await writeFile(join(draft.folder, '0-0.parquet'), 'rows');
  const aborted = AbortSignal.abort(new Error('not wanted'));
  const commit = draft.commit([{ rows: 1, files: ['0-0.parquet'] }], 'inner', aborted);
  await expect(commit).rejects.toThrow('not wanted');
  await draft.discard();
  const [own = ''] = await listed(join(folder, 'shuffle'));
  expect(await listed(join(folder, 'shuffle', own, 'outputs'))).toEqual([]);
  expect(await listed(join(folder, 'shuffle', own, 'tmp'))).toEqual([]);
});

test('waits for pending removals on close, even if they fail', async () => {
  const store = await openStore();
  const [one, other] = [deferred(), deferred()];
  store.afterwards(one.promise);
  store.afterwards(other.promise);
  const closed = store.close().then(() => 'closed');
  one.reject(new Error('busy'));
  // It has no folder: without them it would be closed before anything is read.
  const read = listed('.').then(() => 'waits');
  expect(await Promise.race([closed, read])).toBe('waits');
  other.resolve();
  await closed;
});

test.each(['../0-0.parquet', '/etc/passwd', '0-1.parquet', '1-0.parquet', ''])(
  'a file that is named %s cannot become the first segment',
  async (file) => {
    const store = await openStore();
    const draft = await store.begin({ query: QUERY, task: 's0.0', fence: 1 });
    const commit = draft.commit([{ rows: 1, files: [file] }], 'inner');
    await expect(commit).rejects.toMatchObject({ code: 'invariant' });
  },
);

test('can remove intermediate outputs before the result', async () => {
  const store = await openStore();
  const inner = await keep(store, 's0.0', [[bytes(10)]]);
  const draft = await store.begin({ query: QUERY, task: 's1.0', fence: 1 });
  await writeFile(join(draft.folder, '0-0.parquet'), 'rows');
  const result = await draft.commit([{ rows: 1, files: ['0-0.parquet'] }], 'result');
  expect(store.queries('inner')).toEqual([QUERY]);
  await store.drop(QUERY, 'inner');
  await expect(access(inner.folder)).rejects.toThrow('ENOENT');
  await access(result.folder);
  expect([store.queries('inner'), store.queries()]).toEqual([[], [QUERY]]);
  await store.drop(QUERY);
  await expect(access(result.folder)).rejects.toThrow('ENOENT');
  expect([store.queries(), store.usage]).toEqual([[], { outputs: 0, bytes: 0 }]);
});

test('the output of one attempt can be removed, and the others stay', async () => {
  const store = await openStore();
  const [one, other] = [
    await keep(store, 's0.0', [[bytes(10)]]),
    await keep(store, 's0.1', [[bytes(20)]]),
  ];
  const { query, task, fence } = one.index;
  await store.discard({ query, task, fence: fence + 1 });
  expect(store.usage.outputs).toBe(2);
  await store.discard({ query, task, fence });
  await expect(access(one.folder)).rejects.toThrow('ENOENT');
  await access(other.folder);
  expect(store.find({ query, task, fence })).toBeNull();
  expect(store.usage).toEqual({ outputs: 1, bytes: 20 });
  const { query: last, task: rest, fence: same } = other.index;
  await store.discard({ query: last, task: rest, fence: same });
  expect([store.queries(), store.usage]).toEqual([[], { outputs: 0, bytes: 0 }]);
});

test('a store that keeps nothing makes no folder, and one that closes leaves none', async () => {
  const folder = await temporaryFolder();
  const idle = await openStore(folder);
  await idle.close();
  expect(await listed(folder)).toEqual([]);
  const store = await openStore(folder);
  await keep(store, 's0.0', [[bytes(10)]]);
  expect(await listed(folder)).toEqual(['shuffle']);
  await store.close();
  expect(await listed(folder)).toEqual([]);
});

test('two stores share a folder, and neither removes what the other has', async () => {
  const folder = await temporaryFolder();
  const one = await openStore(folder);
  const kept = await keep(one, 's0.0', [[bytes(10)]]);
  const two = await openStore(folder);
  await keep(two, 's0.0', [[bytes(10)]]);
  await two.drop(QUERY);
  await two.close();
  expect(await listed(kept.folder)).toEqual(['0-0.parquet']);
});

test('sweeps what a killed process has left, but not what a live one has', async () => {
  const folder = await temporaryFolder();
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, '../../../test/rig/shuffle-child.ts'), folder],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const root = join(folder, 'shuffle');
  const [left] = await listed(root);
  await openStore(folder);
  expect(await listed(root)).toEqual([left]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const store = await openStore(folder);
  expect(await listed(root)).toEqual([]);
  await keep(store, 's0.0', [[bytes(1)]]);
});

test('sweeps a folder of another machine once its owner file is stale', async () => {
  const folder = await temporaryFolder();
  const far = join(folder, 'shuffle', 'far');
  await mkdir(far, { recursive: true });
  await mkdir(join(folder, 'shuffle', 'not-ours'));
  const file = join(far, 'owner.json');
  await writeFile(file, JSON.stringify({ pid: 1, started: '1', place: 'another machine' }));
  await OutputStore.open({ folder });
  expect(await listed(join(folder, 'shuffle'))).toEqual(['far', 'not-ours']);
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(file, longAgo, longAgo);
  await OutputStore.open({ folder });
  expect(await listed(join(folder, 'shuffle'))).toEqual(['not-ours']);
});
