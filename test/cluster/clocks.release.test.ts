import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';
import type { TestCluster, TestClusterOptions } from '../rig/cluster/test-cluster.ts';

const TEN_MINUTES_MS = 600_000;

/**
 * Loaded into every process and thread of a node before anything else: all that it can learn of the date is
 * off. What only measures, `performance.now()`, is left alone, as on a machine whose clock was set wrong.
 */
const WRONG_CLOCK = `
  const offsetMs = Number(process.env.MILLRACE_CLOCK_OFFSET_MS ?? '0');
  const Right = Date;
  globalThis.Date = class Date extends Right {
    constructor(...given) {
      if (given.length === 0) super(Right.now() + offsetMs);
      else super(...given);
    }
    static now() {
      return Right.now() + offsetMs;
    }
  };`;

/** One leader ahead, one behind; one worker of each kind. */
async function outOfStep(settings: TestClusterOptions['settings'] = {}): Promise<TestCluster> {
  vi.stubEnv('NODE_OPTIONS', `--import=data:text/javascript,${encodeURIComponent(WRONG_CLOCK)}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const fixture = await startTestCluster({ leaders: 0, workers: 0, slots: 2, settings });
  const { cluster } = fixture;
  const ahead = { settings: { clockOffsetMs: TEN_MINUTES_MS } };
  const behind = { settings: { clockOffsetMs: -TEN_MINUTES_MS } };
  await cluster.startNode(ahead);
  await cluster.startNode(behind);
  await Promise.all([
    cluster.startWorker({ id: 'w-1', ...ahead }),
    cluster.startWorker({ id: 'w-2', ...behind }),
  ]);
  return fixture;
}

test('with clocks ten minutes ahead and behind, fail-over works both ways and running tasks continue', async () => {
  const fixture = await outOfStep(LONG_SESSIONS);
  const { cluster, client, sql } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: ['a', 'b', 'c'].map((name) => ({
      id: name,
      executor: 'waitForFile',
      input: { file },
    })),
  });
  await cluster.effects.wait({ job: id, what: 'begin' }, 3);
  const load = new Load(client, { jobs: 100, lanes: 3 });
  await load.reached(20);
  const first = cluster.node('n-1');
  await first.process.crash();
  expect(await takenFrom(fixture, first)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await load.reached(60);
  await first.start();
  const second = cluster.node('n-2');
  await second.process.crash();
  expect(await takenFrom(fixture, second)).toEqual({ nodeId: 'n-1', epoch: 3 });
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  // The database's clock dates everything.
  const [row] = await sql`
    select bool_and(created_at between now() - interval '3 minutes' and now()
                    and finished_at between created_at and now()) as is_right from millrace.job`;
  expect(row).toEqual({ is_right: true });
  await expectAllEnded(fixture);
});

test('clocks ten minutes ahead and behind: a session expires when its node is gone, not before', async () => {
  const fixture = await outOfStep();
  const { cluster, client } = fixture;
  const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'hang' }] });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const first = await client.waitForEvent(({ event }) => event === 'started', { job: id });
  const { node } = JSON.parse(first.data) as { node: string };
  // Stopped, so that nothing but its silence tells.
  const lost = cluster.node(node);
  lost.process.pause();
  await client.waitForEvent(({ event }) => event === 'reassigned', { job: id });
  const begun = await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  expect(begun.map(({ attempt }) => attempt)).toEqual([1, 2]);
  lost.process.resume();
  // It hears that its lease is gone, and comes back under a new session.
  const [aborted] = await cluster.effects.wait({ job: id, what: 'aborted' });
  expect(aborted).toMatchObject({ attempt: 1, pid: begun[0]?.pid });
  await expectSoon(async () => {
    const nodes = await client.nodes();
    expect(nodes.map(({ status }) => status)).toEqual(['healthy', 'healthy']);
  });
  await client.cancel(id);
  expect(await client.waitForJob(id)).toMatchObject({ state: 'cancelled' });
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(2);
  await expectAllEnded(fixture);
});
