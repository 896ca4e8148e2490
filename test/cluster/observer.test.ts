import { expect, test } from 'vitest';
import { expectCleanEnd, startScene, until } from './scene.ts';
import { ask, document } from './observer-setup.ts';

test('an observer refers writes to the leader, whoever that is now', async () => {
  const scene = await startScene({ leaders: 2, workers: 1 });
  const { cluster } = scene;
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
  await expectCleanEnd(scene);
});
