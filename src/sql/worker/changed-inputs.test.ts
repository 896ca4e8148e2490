/** Files of inputs that change while they are in use: what was checked before says nothing of them then. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fragment, fragmentNode, fragmentTask } from '../../../test/rig/fragment-node.ts';
import type { FragmentNodeRig } from '../../../test/rig/fragment-node.ts';
import { bytes } from '../../../test/rig/shuffle-node.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import type { TestContext } from '../../../test/rig/task-context.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { TaskId } from '../../scheduler/core/index.ts';
import type { FragmentRequest } from '../engine/index.ts';
import { InputLostError } from '../../tasks/executors/index.ts';
import type { FragmentResult, FragmentTask, PartitionRead } from '../plan/index.ts';
import type { Engines } from './fragment-executor.ts';

/** Runs before the engine writes its only file. */
type During = (order: FragmentRequest) => Promise<void>;

function engines(during: During = () => Promise.resolve()): Engines {
  const engine = {
    run: async (order: FragmentRequest) => {
      await during(order);
      await writeFile(join(order.folder, '0-0.parquet'), bytes(100));
      const parts = [{ rows: 100, files: ['0-0.parquet'] }];
      return { parts, rows: null, sums: {}, rowsIn: 0, rowsOut: 100, runMs: 1, spilledBytes: 0 };
    },
    async *rows() {},
    warm: () => Promise.resolve('v1.5.6'),
    close: () => Promise.resolve(),
  };
  return { acquire: () => Promise.resolve({ engine, release: () => {} }) };
}

const context = (taskId: string): TestContext => testContext({ taskId: taskId as TaskId });

function reading({ at, parts }: FragmentResult, mode: 'partition' | 'all'): FragmentTask {
  const [part] = parts;
  if (part === undefined) throw new Error('nothing was made');
  const reads: readonly PartitionRead[] = [{ at, partition: 0, part }];
  const inputs = [{ relation: 'x0', stage: 0, mode, columns: [] }];
  return fragmentTask({ stage: 1, fragment: fragment({ inputs }), reads: { x0: reads } });
}

/** The first run makes what the second one reads, on the same node. */
async function made(during: During): Promise<{ node: FragmentNodeRig; output: FragmentResult }> {
  let isFirst = true;
  const node = await fragmentNode({
    engines: engines(async (order) => {
      if (!isFirst) await during(order);
      isFirst = false;
    }),
  });
  return { node, output: await node.run(fragmentTask(), context('s0.0')) };
}

const overwrite: During = async ({ inputs }) => {
  for (const file of inputs['x0'] ?? []) await writeFile(file, bytes(100, 7));
};

test.each(['partition', 'all'] as const)(
  'an input that changes while it is read is lost (%s), and what was made of it is not kept',
  async (mode) => {
    const { node, output } = await made(overwrite);
    const error = await thrownBy(() => node.run(reading(output, mode), context('s1.0')));
    expect(error).toBeInstanceOf(InputLostError);
    expect(error).toMatchObject({ lost: [{ taskId: 's0.0', fence: 1 }] });
    expect(node.store.usage.outputs).toBe(1);
  },
);

test('blames the input, not the engine, if the input was damaged', async () => {
  const { node, output } = await made(async (order) => {
    await overwrite(order);
    throw new MillraceError({ code: 'query_failed', what: 'Snappy decompression failure.' });
  });
  const error = await thrownBy(() => node.run(reading(output, 'partition'), context('s1.0')));
  expect(error).toBeInstanceOf(InputLostError);
});

test('verifies a broadcast input in each task', async () => {
  const { node, output } = await made(() => Promise.resolve());
  await node.run(reading(output, 'all'), context('s1.0'));
  await rm(join(output.at.folder, '0-0.parquet'));
  const error = await thrownBy(() => node.run(reading(output, 'all'), context('s1.1')));
  expect(error).toBeInstanceOf(InputLostError);
});

test('a copy that is damaged is fetched again', async () => {
  const far = await fragmentNode({ engines: engines() });
  const output = await far.run(fragmentTask(), context('s0.0'));
  const files: string[] = [];
  const near = await fragmentNode({
    engines: engines(async ({ inputs }) => {
      files.push(...(inputs['x0'] ?? []));
    }),
  });
  await near.run(reading(output, 'all'), context('s1.0'));
  await rm(files[0] ?? '');
  const again = await near.run(reading(output, 'all'), context('s1.1'));
  expect(again.metrics).toMatchObject({ fetchedBytes: 100 });
});
