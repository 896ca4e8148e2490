import { expect, test } from 'vitest';
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import type { JobSeen } from '../rig/cluster/client.ts';
import { expectAllEnded, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const ROUNDS = 120;
const TERMINAL = ['job.succeeded', 'job.failed', 'job.cancelled'];

test('a cancel that races with the completion: one end, one event, and the client learns the true state', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 2, slots: 4 });
  const { client } = fixture;
  const answers = new Map<string, JobSeen>();
  const lane = async (first: number): Promise<void> => {
    for (let round = first; round < ROUNDS; round += 4) {
      // From a task that ends at once to one that ends when the cancel has long arrived.
      const input = { ms: (round % 12) * 3 };
      const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'deaf', input }] });
      // Half of them are met on their way to the worker, half when they run.
      if (round % 2 === 1) await fixture.cluster.effects.wait({ job: id, what: 'begin' });
      answers.set(id, await client.cancel(id));
    }
  };
  await Promise.all([0, 1, 2, 3].map(lane));
  const ends = new Map<string, string>();
  for (const [id, answer] of answers) {
    const job = await client.waitForJob(id);
    ends.set(id, job.state);
    expect(['succeeded', 'cancelled']).toContain(job.state);
    expect(job.tasks[0]?.state).toBe(job.state);
    expect(job.tasks[0]?.result === null).toBe(job.state === 'cancelled');
    // What was an end stays; what was none became the one that was asked for.
    const wasOver = ['succeeded', 'cancelled'].includes(answer.state);
    expect(job.state).toBe(wasOver ? answer.state : 'cancelled');
  }
  expect(new Set(ends.values())).toEqual(new Set(['succeeded', 'cancelled']));
  expect(await terminalEvents(fixture)).toEqual(
    new Map([...ends].map(([id, state]) => [id, [`job.${state}`]])),
  );
  await expectAllEnded(fixture);
});

/** By job, as the log has them. */
async function terminalEvents({ database }: TestCluster): Promise<Map<string, string[]>> {
  const store = await openPostgresStore({ url: database });
  const ids = new Map<number, string>();
  const ends = new Map<string, string[]>();
  try {
    for await (const dumped of store.dump()) {
      if (dumped.table === 'job') ids.set(dumped.row.no, dumped.row.id);
      if (dumped.table !== 'event' || !TERMINAL.includes(dumped.row.kind)) continue;
      const id = ids.get(dumped.row.jobNo ?? 0) ?? '';
      ends.set(id, [...(ends.get(id) ?? []), dumped.row.kind]);
    }
    return ends;
  } finally {
    await store.close();
  }
}
