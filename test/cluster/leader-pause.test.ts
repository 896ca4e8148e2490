import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  expectOnce,
  expectRest,
  expectSoon,
  expectSucceeded,
  Load,
  OUTLASTING,
  terms,
  stage,
  takenFrom,
} from './stage.ts';

test('a leader that stood still beyond its TTL finds its writes refused, and follows', async () => {
  const play = await stage({ leaders: 2, workers: 2, slots: 4, settings: OUTLASTING });
  const { cluster, client, sql } = play;
  const [first, second] = [cluster.node('n-1'), cluster.node('n-2')];
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 200 });
  await load.reached(50);
  // In the middle of its work: requests and commits are under way.
  first.process.pause();
  expect(await takenFrom(play, first)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await load.reached(100);
  first.process.resume();
  // What it still has in hand is sent now, and may not count.
  await expectSoon(async () => {
    const answer = await fetch(`${first.plan.url}/api/v1/jobs/${id}/cancel`, { method: 'POST' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      code: 'not_leader',
      leader: { nodeId: second.id, epoch: 2, url: second.plan.url },
    });
  });
  expect(first.output).toMatch(/This node is no longer the leader/);
  writeFileSync(file, '');
  await expectSucceeded(play, [id, ...(await load.done)]);
  expectOnce(play);
  const epochs = await sql`select epoch::int, node_id from millrace.leader`;
  expect([...epochs]).toEqual([{ epoch: 2, node_id: 'n-2' }]);
  expect(await terms(play)).toHaveLength(2);
  await expectRest(play);
});
