import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { expectOnce, expectRest, expectSucceeded, Load, stage, takenFrom } from './stage.ts';
import type { Stage } from './stage.ts';

const TEN_MINUTES_MS = 600_000;
const WRONG_CLOCK = fileURLToPath(new URL('../fixture/wrong-clock.mjs', import.meta.url));

/** One leader ahead, one behind; one worker of each kind. */
async function outOfStep(): Promise<Stage> {
  vi.stubEnv('NODE_OPTIONS', `--import=${WRONG_CLOCK}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const play = await stage({ leaders: 0, workers: 0, slots: 2 });
  const { cluster } = play;
  const ahead = { settings: { clockOffsetMs: TEN_MINUTES_MS } };
  const behind = { settings: { clockOffsetMs: -TEN_MINUTES_MS } };
  await cluster.startNode(ahead);
  await cluster.startNode(behind);
  await Promise.all([
    cluster.startWorker({ id: 'w-1', ...ahead }),
    cluster.startWorker({ id: 'w-2', ...behind }),
  ]);
  return play;
}

test('clocks ten minutes ahead and behind: fail-over both ways, and work that runs goes on', async () => {
  const play = await outOfStep();
  const { cluster, client, sql } = play;
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
  expect(await takenFrom(play, first)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await load.reached(60);
  await first.start();
  const second = cluster.node('n-2');
  await second.process.crash();
  expect(await takenFrom(play, second)).toEqual({ nodeId: 'n-1', epoch: 3 });
  writeFileSync(file, '');
  await expectSucceeded(play, [id, ...(await load.done)]);
  expectOnce(play);
  // The database's clock dates everything.
  const [row] = await sql`
    select bool_and(created_at between now() - interval '3 minutes' and now()
                    and finished_at between created_at and now()) as is_right from millrace.job`;
  expect(row).toEqual({ is_right: true });
  await expectRest(play);
});

test('clocks ten minutes ahead and behind: a session expires when its node is gone, not before', async () => {
  const play = await outOfStep();
  const { cluster, client } = play;
  const tasks = ['a', 'b'].map((name) => ({
    id: name,
    executor: 'hang',
    placement: { maxParallelPerNode: 1 },
  }));
  const { id } = await client.submit({ tasks });
  await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  // Stopped, so that nothing but its silence tells.
  const lost = cluster.node('w-1');
  lost.process.pause();
  await client.waitForEvent(({ event }) => event === 'reassigned', { job: id });
  const again = await cluster.effects.wait({ job: id, what: 'begin' }, 3);
  expect(again.filter(({ attempt }) => attempt === 2)).toHaveLength(1);
  lost.process.resume();
  // It hears that its lease is gone, and comes back under a new session.
  await cluster.effects.wait({ job: id, what: 'aborted' }, 1);
  await client.cancel(id);
  expect(await client.waitForJob(id)).toMatchObject({ state: 'cancelled' });
  await expectRest(play);
});
