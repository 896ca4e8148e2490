import { access, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fragment, fragmentTask } from '../../../test/rig/fragment-node.ts';
import { temporaryFolder } from '../../../test/rig/shuffle-node.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import type { Json, TaskId } from '../../scheduler/core/index.ts';
import { ShuffleChannel } from '../../edge/grpc/index.ts';
import { FRAGMENT_EXECUTOR } from '../plan/index.ts';
import type { FragmentResult, FragmentTask } from '../plan/index.ts';
import { duckdbVersion } from './duckdb-version.ts';
import { openQueryNode } from './query-node.ts';
import type { QueryNode, QueryNodeOptions } from './query-node.ts';

async function open(given: Partial<QueryNodeOptions> = {}): Promise<QueryNode> {
  const node = await openQueryNode({
    nodeId: 'w-1',
    slots: 2,
    data: await temporaryFolder(),
    memoryBytes: 400_000_000,
    threads: 2,
    spillBytesMax: 2 ** 28,
    spillFolder: undefined,
    shuffleFolder: undefined,
    roots: [],
    shuffleInPlace: true,
    operators: () => [],
    operatorRowsMax: 1_000,
    resultBytesMax: 1_000_000,
    remoteShuffle: () => new ShuffleChannel({ tls: null }),
    address: () => Promise.resolve(null),
    ...given,
  });
  if (node === null) throw new Error('no DuckDB here');
  onTestFinished(() => node.close());
  return node;
}

async function run(node: QueryNode, task: FragmentTask, taskId = 's0.0'): Promise<FragmentResult> {
  const executor = node.executors.find(({ name }) => name === FRAGMENT_EXECUTOR);
  const context = testContext({ taskId: taskId as TaskId });
  return (await executor?.run(task as unknown as Json, context)) as FragmentResult;
}

const QUERY = testContext().jobId;

test('it offers what runs queries and says what it has', async () => {
  const root = await temporaryFolder();
  const link = join(await temporaryFolder(), 'link');
  await symlink(root, link);
  const node = await open({ roots: [link], threads: 3 });
  expect(node.executors.map(({ name }) => name)).toEqual(['sql', FRAGMENT_EXECUTOR]);
  const { version } = await import('@duckdb/node-api');
  expect(node.capabilities).toEqual({
    duckdb: version(),
    roots: [root],
    memory_bytes: 400_000_000,
    query_threads: 3,
  });
});

test('a machine without DuckDB, and a worker without slots, runs no queries', async () => {
  expect(duckdbVersion('amiga-m68k')).toBeNull();
  expect(await openQueryNode({ slots: 0 } as QueryNodeOptions)).toBeNull();
});

test('refuses to start with a root that does not exist', async () => {
  const roots = [join(await temporaryFolder(), 'missing')];
  await expect(open({ roots })).rejects.toMatchObject({ code: 'bad_setting' });
});

test('creates nothing before it is needed, and removes it on close', async () => {
  const data = await temporaryFolder();
  const node = await open({ data });
  expect(await readdir(data)).toEqual([]);
  const { at } = await run(node, fragmentTask());
  await access(at.folder);
  expect(node.queries()).toEqual([QUERY]);
  await node.drop(QUERY);
  await expect(access(at.folder)).rejects.toThrow('ENOENT');
  await run(node, fragmentTask(), 's0.1');
  await node.close();
  expect(await readdir(data)).toEqual([]);
});

test('with roots nothing else can be read, whatever the SQL says', async () => {
  const [root, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
  const node = await open({ roots: [root] });
  const sql = `SELECT count(*) AS c0 FROM glob('${elsewhere}/*')`;
  const thrown = await thrownBy(() =>
    run(
      node,
      fragmentTask({ fragment: fragment({ sql, columns: [{ name: 'c0', type: 'BIGINT' }] }) }),
    ),
  );
  expect(thrown).toMatchObject({ code: 'path_refused', failure: 'fatal' });
  const { metrics } = await run(node, fragmentTask());
  expect(metrics.rowsOut).toBe(1);
});

test('outputs and spilled data have folders of their own, if they are given', async () => {
  const [data, shuffleFolder, spillFolder] = [
    await temporaryFolder(),
    await temporaryFolder(),
    await temporaryFolder(),
  ];
  const node = await open({ data, shuffleFolder, spillFolder });
  const { at } = await run(node, fragmentTask());
  expect(at.folder).toContain(join(shuffleFolder, 'shuffle'));
  expect(await readdir(data)).toEqual([]);
  const [own = ''] = await readdir(join(spillFolder, 'spill'));
  expect(await readdir(join(spillFolder, 'spill', own))).toContain('spill');
  await node.close();
  expect(await readdir(spillFolder)).toEqual([]);
});
