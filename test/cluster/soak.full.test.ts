/** `npm run chaos` runs this file, with how long and from which seed. */
import { expect, test } from 'vitest';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { Dice, FaultInjector } from './cluster-faults.ts';
import { expectAllEnded, ownDatabase, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const MINUTES = Number(process.env['TEST_CHAOS_MINUTES'] ?? '2');
const SEED = Number(process.env['TEST_CHAOS_SEED'] ?? `${Math.floor(Math.random() * 2 ** 31)}`);
const LANES = 4;
const CALM_MS = 2_500;
/** However bad the faults, a job comes to its end. */
const JOB_MS = 120_000;

/** Faults cause losses of every kind; a task that gives up because of it would hide what we look for. */
const settings = { maxLosses: 10_000, maxAttempts: 10_000, maxBackoffMs: 500 };

test(
  'two nodes and three workers under faults: when they end, the audit finds nothing wrong',
  { timeout: MINUTES * 60_000 + 300_000 },
  async () => {
    console.log(`chaos: ${MINUTES} minutes, seed ${SEED}`);
    const { fixture, faultInjector } = await exposed();
    const cancelled = new Set<string>();
    const over = new AbortController();
    const lane = async (dice: Dice): Promise<void> => {
      while (!over.signal.aborted) {
        const { id } = await fixture.client.submit({ tasks: tasksOf(dice) });
        if (dice.draw(10) === 0) {
          cancelled.add(id);
          await fixture.client.cancel(id);
        }
        // So that no more is asked for than three workers in bad faults can do.
        if (dice.draw(6) === 0) await fixture.client.waitForJob(id, JOB_MS);
      }
    };
    const lanes = Promise.all(
      Array.from({ length: LANES }, (_, at) => lane(new Dice(SEED, at + 2))),
    );
    // Whoever fails first is heard below.
    lanes.catch(() => {});
    const calm = new Dice(SEED, 1);
    const untilMs = performance.now() + MINUTES * 60_000;
    try {
      while (performance.now() < untilMs) {
        await faultInjector.change();
        await Promise.race([lanes, pauseMs(calm.draw(CALM_MS))]);
      }
    } finally {
      over.abort();
      await faultInjector.clear();
      console.log(`chaos: seed ${SEED}: ${faultInjector.diary.join('; ')}`);
    }
    await lanes;
    await expectOutcomes(fixture, cancelled);
    await expectAllEnded(fixture);
  },
);

async function exposed(): Promise<{ fixture: TestCluster; faultInjector: FaultInjector }> {
  const database = await ownDatabase();
  const client = { retryBudgetMs: 120_000 };
  const fixture = await startTestCluster({
    database,
    leaders: 0,
    workers: 0,
    slots: 3,
    settings,
    client,
  });
  const wires = new Map<string, LossyDatabase>();
  for (const id of ['n-1', 'n-2']) {
    const wire = await LossyDatabase.start(database);
    wires.set(id, wire);
    await fixture.cluster.startNode({ id, database: wire.url, isProxied: true });
  }
  for (const id of ['w-1', 'w-2', 'w-3']) await fixture.cluster.startWorker({ id });
  return { fixture, faultInjector: new FaultInjector(new Dice(SEED, 0), fixture, wires) };
}

function tasksOf(dice: Dice): readonly object[] {
  const kinds = [
    { executor: 'note', input: { value: 1 } },
    { executor: 'deaf', input: { ms: dice.draw(400) } },
    { executor: 'fail', input: { times: 1 } },
    { executor: 'stepThenWait' },
  ];
  return Array.from({ length: 1 + dice.draw(4) }, (_, at) => ({
    id: `t${at}`,
    ...dice.pick(kinds),
    ...(at > 0 && dice.draw(2) === 0 ? { dependsOn: [`t${at - 1}`] } : {}),
  }));
}

/** All of them, and those that nobody cancelled ended well. */
async function expectOutcomes({ sql, client }: TestCluster, cancelled: Set<string>): Promise<void> {
  const kept = [...client.acknowledged].filter((id) => !cancelled.has(id));
  console.log(`chaos: ${client.acknowledged.size} jobs, ${cancelled.size} cancelled`);
  await expectSoon(async () => {
    const rows = await sql`
      select state, count(*)::int from millrace.job where id = any(${kept}) group by 1`;
    expect([...rows]).toEqual([{ state: 2, count: kept.length }]);
  }, 120_000);
}
