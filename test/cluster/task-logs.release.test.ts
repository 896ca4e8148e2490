import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { LONG_TTLS, startTestCluster, takenFrom } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

async function messages(node: ClusterNode, job: string): Promise<readonly string[]> {
  const answer = await fetch(new URL(`/api/v1/jobs/${job}/logs`, node.plan.url ?? ''));
  if (answer.status !== 200) return [];
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { readonly message: string }).message);
}

test('the log of a task outlives its leader, and an observer without a database reads it', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1, settings: LONG_TTLS });
  const { cluster, client } = fixture;
  const observer = await cluster.startNode({ role: 'observer', id: 'o-1', database: null });
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await until(
    async () => (await messages(observer, id)).includes('waits'),
    'the line that the task has logged',
    60_000,
  );
  await cluster.node('n-1').process.crash();
  expect(await takenFrom(fixture, cluster.node('n-1'))).toEqual({ nodeId: 'n-2', epoch: 2 });
  writeFileSync(file, '');
  expect((await client.waitForJob(id)).state).toBe('succeeded');
  for (const node of [cluster.node('n-2'), observer]) {
    await until(
      async () => (await messages(node, id)).join() === 'waits,has waited',
      `all lines on ${node.id}`,
      60_000,
    );
  }
}, 240_000);
