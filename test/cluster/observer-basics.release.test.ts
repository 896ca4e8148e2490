import { expect, test } from 'vitest';
import { ask, document } from './observer-setup.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

test('an observer refers writes to the leader, whoever that is now', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const observer = await cluster.startNode({ role: 'observer', id: 'o-1', database: null });
  expect(await ask(observer, '/api/v1/jobs', document('a'))).toMatchObject({
    status: 503,
    body: { leader: { nodeId: 'n-1' } },
  });
  await cluster.node('n-1').process.crash();
  await until(
    async () => (await ask(observer, '/api/v1/jobs', document('a'))).body.leader?.nodeId === 'n-2',
    'the observer to name the new leader',
  );
  expect((await ask(observer, '/api/v1/leader')).body).toMatchObject({ nodeId: 'n-2', epoch: 2 });
  await expectCleanEnd(fixture);
});
