/** A handler that is run again comes by the same way, whatever has ended since. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import type { Json } from '../../scheduler/core/index.ts';
import type { Callable, TaskContext } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';

let cluster: LedCluster;
/** Who won, once for each attempt that came so far. */
let winners: string[];

beforeEach(async () => {
  winners = [];
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const child: Callable<Json, Json> = {
  name: 'child',
  toDocument: (input) => ({ name: 'child', tasks: [{ id: 'only', executor: 'inner', input }] }),
  readResult: (result) => result,
};

type Ways = (context: TaskContext) => Readonly<Record<string, Promise<unknown>>>;

/** The first of them wins, and then there is a long time in which the others end as well. */
async function race(ways: Ways, restMs: number = 9 * HOUR_MS): Promise<void> {
  await cluster.join({
    tasks: [
      {
        name: 'it',
        run: async (_input: Json, context) => {
          const all = Object.entries(ways(context));
          const winner = await Promise.race(all.map(([name, way]) => way.then(() => name)));
          winners.push(winner);
          await context.sleep('rest', restMs);
          return winner;
        },
      },
      { name: 'inner', run: (_input: Json, context) => context.sleep('inner', '2h') },
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(100);
}

test('a sleep that won a race against a signal wins again on replay', async () => {
  await race(({ waitFor, sleep: nap }) => ({ signal: waitFor('go'), sleep: nap('limit', '1h') }));
  await cluster.pass(HOUR_MS + MINUTE_MS);
  expect(winners).toEqual(['sleep']);
  await cluster.signal('job', 'go', 1);
  await cluster.pass(10 * HOUR_MS);
  expect(new Set(winners)).toEqual(new Set(['sleep']));
  expect(await cluster.result('job', 'a')).toBe('sleep');
});

test('a sleep that won a race against a called job wins again on replay', async () => {
  await race(({ call, sleep: nap }) => ({ job: call('it', child, 1), sleep: nap('limit', '1h') }));
  await cluster.pass(HOUR_MS + MINUTE_MS);
  expect(winners).toEqual(['sleep']);
  await cluster.pass(11 * HOUR_MS);
  expect(new Set(winners)).toEqual(new Set(['sleep']));
  expect(await cluster.result('job', 'a')).toBe('sleep');
});

test('a sleep that won a race against a wait wins again on replay', async () => {
  await race(({ waitFor, sleep: nap }) => ({
    wait: waitFor('go', { timeout: '2h' }),
    sleep: nap('limit', '1h'),
  }));
  await cluster.pass(HOUR_MS + MINUTE_MS);
  expect(winners).toEqual(['sleep']);
  await cluster.pass(11 * HOUR_MS);
  expect(winners.length).toBeGreaterThan(2);
  expect(new Set(winners)).toEqual(new Set(['sleep']));
});

test('a signal that won a race against a sleep wins again on replay', async () => {
  await race(({ waitFor, sleep: nap }) => ({ sleep: nap('limit', '1h'), signal: waitFor('go') }));
  await cluster.signal('job', 'go', 1);
  await cluster.pass(12 * HOUR_MS);
  expect(winners.length).toBeGreaterThan(1);
  expect(new Set(winners)).toEqual(new Set(['signal']));
});

test('a sleep that is delayed by a step counts from its request', async () => {
  const gate = deferred();
  await cluster.join({
    tasks: [
      {
        name: 'it',
        run: async (_input: Json, { step, sleep: nap }) => {
          await Promise.all([nap('hour', '1h'), step('work', () => gate.promise)]);
          return 'both';
        },
      },
    ],
  });
  await cluster.submit('job', { id: 'a', executor: 'it' });
  await cluster.pass(40 * MINUTE_MS);
  gate.resolve();
  await cluster.pass(1_000);
  expect(await cluster.task('job', 'a')).toMatchObject({ state: 'delayed' });
  await cluster.pass(21 * MINUTE_MS);
  expect(await cluster.result('job', 'a')).toBe('both');
});
