import { expect, test } from 'vitest';
import { defaultSettings } from '../../src/scheduler/core/index.ts';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';

const { leaderTtlMs, leaderRenewMs, sessionTtlMs, heartbeatMs, nodeDeadMs } = defaultSettings;
const ROUNDS = 3;
/** What is promised on a machine that has nothing else to do. */
const PROMISED_MS = 3_000;

test('with default settings the next task is given out seconds after the leader was killed', async () => {
  const settings = { leaderTtlMs, leaderRenewMs, sessionTtlMs, heartbeatMs, nodeDeadMs };
  const fixture = await startTestCluster({ leaders: 2, workers: 1, settings });
  const { cluster, client } = fixture;
  const tookMs: number[] = [];
  const ids: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const leader = await cluster.leading();
    const killedAtMs = performance.now();
    await leader.process.crash();
    const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    await cluster.effects.wait({ job: id, what: 'begin' });
    tookMs.push(performance.now() - killedAtMs);
    ids.push(id);
    expect(await takenFrom(fixture, leader)).toMatchObject({ epoch: round + 2 });
    await leader.start();
  }
  console.log(`fail-over with default settings: ${tookMs.map(Math.round).join(', ')} ms`);
  // Others may be busy on this machine; but nobody has waited for the TTL to pass.
  expect(Math.min(...tookMs)).toBeLessThan(PROMISED_MS);
  expect(Math.max(...tookMs)).toBeLessThan(leaderTtlMs);
  await expectSucceeded(fixture, ids);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
