import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultSettings } from '../../src/scheduler/core/index.ts';
import { eventsOf, expectAllEnded, startTestCluster } from '../rig/cluster/test-cluster.ts';

const { leaderTtlMs, leaderRenewMs, sessionTtlMs, heartbeatMs, nodeDeadMs } = defaultSettings;
const ROUNDS = 20;
/** What is promised for workers on the leader's machine while it has nothing else to do. */
const PROMISED_MS = 500;

interface Times {
  /** From the kill until the leader has committed that the worker is gone. */
  readonly noticedMs: number;
  /** From the kill until another worker runs the task. */
  readonly resumedMs: number;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

test('with default settings a task runs again soon after its worker on the same machine was killed', async () => {
  const settings = { leaderTtlMs, leaderRenewMs, sessionTtlMs, heartbeatMs, nodeDeadMs };
  const fixture = await startTestCluster({ workers: 2, slots: 4, settings });
  const { cluster, client } = fixture;
  const times: Times[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const file = cluster.file(`go-${round}`);
    const { id } = await client.submit({
      tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
    });
    const [{ pid } = { pid: 0 }] = await cluster.effects.wait({ job: id, what: 'begin' });
    const victim = cluster.workers.find(({ process }) => process.pid === pid);
    const killedAt = Date.now();
    await victim?.process.crash();
    await cluster.effects.wait({ job: id, what: 'begin' }, 2);
    const resumedMs = Date.now() - killedAt;
    writeFileSync(file, '');
    await client.waitForJob(id);
    const lost = (await eventsOf(cluster, id)).find(({ kind }) => kind === 'reassigned');
    times.push({ noticedMs: Date.parse(lost?.at ?? '') - killedAt, resumedMs });
    await victim?.start();
  }
  console.log(`noticed after ${times.map(({ noticedMs }) => noticedMs).join(', ')} ms`);
  console.log(`run again after ${times.map(({ resumedMs }) => resumedMs).join(', ')} ms`);
  console.log(`median ${median(times.map(({ resumedMs }) => resumedMs))} ms`);
  expect(median(times.map(({ resumedMs }) => resumedMs))).toBeLessThan(PROMISED_MS);
  await expectAllEnded(fixture);
});
