/** Handlers that are killed, with their worker, their leader or everything, and go on where they were. */
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  OPTIONS,
  submit,
  effectsOf,
  expectSucceeded,
  startWaiting,
  expectAllGoOn,
} from './durability-setup.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

test('a worker is killed between two steps and inside of one: only what was not finished is done again', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, workers: 1 });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const between = await submit(cluster, 'between', { file });
  const inside = await submit(cluster, 'inside', { file });
  await cluster.effects.wait({ job: between, name: 'between' });
  await cluster.effects.wait({ job: inside, name: 'inside' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  await cluster.effects.wait({ job: between, name: 'between' }, 2);
  const twice = await cluster.effects.wait({ job: inside, name: 'inside' }, 2);
  writeFileSync(file, '');
  for (const job of [between, inside]) await expectSucceeded(cluster, job);
  expect(effectsOf(cluster, between)).toEqual(['a before', 'a between', 'a between', 'a after']);
  expect(effectsOf(cluster, inside)).toEqual(['a before', 'a inside', 'a inside', 'a after']);
  expect(new Set(twice.map(({ key }) => key)).size).toBe(1);
  expect(new Set(twice.map(({ pid }) => pid)).size).toBe(2);
  await expectCleanEnd(fixture);
});

test('the leader is killed while tasks sleep, listen, call and map: the next one wakes them', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const waiting = await startWaiting(cluster, 500);
  // Its sleep is over before there is a leader again.
  await cluster.node('n-1').process.crash();
  await expectAllGoOn(cluster, waiting);
  expect((await cluster.leading()).id).toBe('n-2');
  await expectCleanEnd(fixture);
});
