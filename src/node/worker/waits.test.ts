import { beforeEach, expect, test } from 'vitest';
import { calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { isId } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import type { Callable, TaskContext } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import type { ReadyAssignment, StepRecord } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;
let made: Rig;

beforeEach(() => {
  leader = new FakeLeader();
});

type Handler = (context: TaskContext) => unknown;

async function run(handler: Handler, given: Partial<ReadyAssignment> = {}): Promise<void> {
  made = rig({
    leader,
    slots: 1,
    prefetch: 0,
    tasks: [{ name: 'task', run: (_input: Json, context) => handler(context) }],
  });
  await made.worker.start();
  leader.give(assignment(1, 'task', given));
  await calm();
}

/** As the leader would hand it out the next time: assigned at 1,000,000 by its clock. */
function recorded(steps: Readonly<Record<string, unknown>>): { steps: StepRecord[] } {
  return {
    steps: Object.entries(steps).map(([name, body]) => ({ name, body: JSON.stringify(body) })),
  };
}

function lastItem(): unknown {
  return leader.items.at(-1);
}

function suspended(until: object): object {
  const nothing = { type: 'wait', sleeps: [], signals: [], jobs: [] };
  return { kind: 'suspended', lease: lease(1), until: { ...nothing, ...until } };
}

function completed(result: unknown): object {
  return { kind: 'completed', lease: lease(1), result: JSON.stringify(result) };
}

const child: Callable<number, string> = {
  name: 'child',
  toDocument: (input) => ({ name: 'child', tasks: [{ id: 'a', executor: 'echo', input }] }),
  readResult: (result) => `read ${JSON.stringify(result)}`,
};

test('a sleep suspends the handler and frees the slot', async () => {
  const seen: string[] = [];
  await run(async ({ sleep: nap, signal }) => {
    signal.addEventListener('abort', () => seen.push('aborted'));
    try {
      await nap('night', '2h');
      seen.push('awake');
    } catch {
      seen.push('caught');
    } finally {
      seen.push('finally');
    }
  });
  expect(lastItem()).toEqual(suspended({ sleeps: [{ step: '$sleep/night', forMs: 7_200_000 }] }));
  leader.give(assignment(2, 'echo', { input: '7' }));
  await calm();
  expect(leader.reported).toEqual(['started 1', 'suspended 1', 'completed 2']);
  await made.clock.advance(10_000_000);
  expect(seen).toEqual([]);
});

test('a finished sleep returns at once, another one sleeps for the rest of its time', async () => {
  const seen: string[] = [];
  await run(
    async ({ sleep: nap }) => {
      await nap('short', '1s');
      seen.push('short');
      await nap('long', '1s');
      seen.push('long');
    },
    recorded({ '$sleep/short': { until: 1_000_000 }, '$sleep/long': { until: 1_000_300 } }),
  );
  expect(seen).toEqual(['short']);
  expect(lastItem()).toEqual(suspended({ sleeps: [{ step: '$sleep/long', forMs: 300 }] }));
});

// Jobs that end meanwhile are not seen before the next attempt, where they may have ended before the sleep.
test('leaves a sleep that ends while the attempt runs to the next attempt', async () => {
  const gate = deferred();
  await run(
    async ({ sleep: nap, step }) => {
      await step('gate', () => gate.promise);
      await nap('night', '1s');
      return 'awake';
    },
    recorded({ '$sleep/night': { until: 1_000_300 } }),
  );
  await made.clock.advance(300);
  gate.resolve();
  await calm();
  expect(lastItem()).toMatchObject({
    kind: 'suspended',
    until: { type: 'wait', sleeps: [{ step: '$sleep/night', forMs: 0 }] },
  });
});

test('a sleep of 0 does not suspend', async () => {
  await run(async ({ sleep: nap }) => {
    await nap('none', 0);
    return 'on';
  });
  expect(leader.reported).toEqual(['completed 1']);
});

test('waits that are requested together make one suspension', async () => {
  await run(({ sleep: nap, waitFor }) =>
    Promise.all([
      nap('a', 10),
      nap('b', 20),
      waitFor('go'),
      waitFor('go', { as: 'second', timeout: '1m' }),
    ]),
  );
  expect(lastItem()).toEqual(
    suspended({
      sleeps: [
        { step: '$sleep/a', forMs: 10 },
        { step: '$sleep/b', forMs: 20 },
        { step: '$until/second', forMs: 60_000 },
      ],
      signals: [
        { step: '$signal/go', name: 'go' },
        { step: '$signal/second', name: 'go' },
      ],
    }),
  );
  expect(leader.reported).toEqual(['started 1', 'suspended 1']);
});

test('a running step delays a suspension, and a handler that ends is not suspended', async () => {
  const gate = deferred<string>();
  await run(({ sleep: nap, step }) =>
    Promise.race([nap('limit', '1m').then(() => 'late'), step('work', () => gate.promise)]),
  );
  expect(leader.reported).toEqual(['started 1']);
  gate.resolve('done');
  await calm();
  expect(leader.reported).toEqual(['started 1', 'step 1', 'completed 1']);
  expect(lastItem()).toEqual(completed('done'));
});

test('a delayed suspension follows when the step has ended', async () => {
  const gate = deferred();
  await run(({ sleep: nap, step }) =>
    Promise.all([nap('night', 5), step('first', () => gate.promise), step('second', () => 2)]),
  );
  expect(leader.reported).toEqual(['started 1', 'step 1']);
  gate.resolve();
  await calm();
  expect(leader.reported).toEqual(['started 1', 'step 1', 'step 1', 'suspended 1']);
});

test.each([
  ['a step before a sleep', ['sleep', 'step'], 'step'],
  ['a step before a signal', ['signal', 'step'], 'step'],
  ['a step before a called job', ['call', 'step'], 'step'],
  ['a sleep before a signal that came later', ['signal', 'sleep'], 'sleep'],
  ['a sleep before a signal of that moment', ['signal', 'nap'], 'nap'],
  ['a signal before a sleep that ended later', ['longer', 'signal'], 'signal'],
  ['a called job before a sleep that ended later', ['longer', 'call'], 'call'],
  ['a signal before a called job that ended later', ['call', 'signal'], 'signal'],
  ['a wait whose time was over before a sleep', ['longer', 'wait'], 'wait'],
  ['a sleep before a wait whose time was over later', ['wait', 'sleep'], 'sleep'],
])(
  'of things that are both over the one wins that had won before: %s',
  async (_n, order, first) => {
    await run(
      ({ sleep: nap, step, waitFor, call }) => {
        const ways: Readonly<Record<string, () => Promise<unknown>>> = {
          sleep: () => nap('short', '1m'),
          nap: () => nap('middle', '1m'),
          longer: () => nap('long', '1m'),
          step: () => step('work', () => 'again'),
          signal: () => waitFor('go'),
          wait: () => waitFor('never', { timeout: '1m' }),
          call: () => call('it', child, 1),
        };
        return Promise.race(order.map((way) => ways[way]!().then(() => way)));
      },
      recorded({
        '$sleep/short': { until: 1 },
        '$sleep/middle': { until: 2 },
        '$signal/go': { value: 1 },
        '$at/signal/go': { at: 2 },
        '$job/it': { jobId: 'job.x', state: 'succeeded', at: 3, result: 1, error: null },
        '$until/never': { until: 4 },
        '$sleep/long': { until: 5 },
        work: 'before',
      }),
    );
    expect(lastItem()).toEqual(completed(first));
  },
);

test.each([
  ['first found out', {}],
  ['written down', { '$signal/go': { timeout: true } }],
])('a time that was over first wins, also when it is %s', async (_name, before) => {
  await run(
    ({ sleep: nap, waitFor }) =>
      Promise.race([
        nap('limit', '1m').then(() => 'sleep'),
        waitFor('go', { timeout: '1m' }).then(() => 'wait'),
      ]),
    recorded({ '$until/go': { until: 1 }, '$sleep/limit': { until: 2 }, ...before }),
  );
  expect(lastItem()).toEqual(completed('wait'));
});

test('what a suspended handler still does has no effect', async () => {
  const gate = deferred();
  const seen: string[] = [];
  await run(async ({ sleep: nap, step, progress, map }) => {
    await Promise.race([nap('night', 5), gate.promise]);
    seen.push('on');
    progress(0.5);
    await Promise.race([
      step('late', () => seen.push('step')).then(() => seen.push('stepped')),
      nap('more', 0).then(() => seen.push('slept')),
      map('late', { ...child, toTask: () => ({ executor: 'echo' }) }, [1]),
    ]);
    seen.push('beyond');
  });
  gate.resolve();
  await calm();
  expect(seen).toEqual(['on']);
  expect(leader.reported).toEqual(['started 1', 'suspended 1']);
});

test('an attempt that is stopped during a delayed suspension ends its waits', async () => {
  const seen: unknown[] = [];
  const gate = deferred();
  await run(async ({ sleep: nap, step }) => {
    const forgotten = step('work', () => gate.promise).catch(() => {});
    try {
      await nap('night', 5);
    } catch (error) {
      seen.push(error);
      throw error;
    }
    await forgotten;
  });
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  await made.clock.advance(200);
  await calm();
  expect(seen).toMatchObject([{ code: 'superseded' }]);
  expect(leader.reported).toEqual(['started 1', 'aborted 1']);
});

test('a received signal returns its value, the same in every later attempt', async () => {
  await run(
    async ({ waitFor }) => [await waitFor('go'), await waitFor('go', { as: 'second' })],
    recorded({ '$signal/go': { value: { yes: 1 } }, '$signal/second': { value: null } }),
  );
  expect(lastItem()).toEqual(completed([{ yes: 1 }, null]));
});

test('a timed-out wait is recorded before the handler continues', async () => {
  const seen: unknown[] = [];
  await run(
    async ({ waitFor }) => {
      seen.push(await waitFor('go', { timeout: '1m' }));
    },
    recorded({ '$until/go': { until: 999_999 } }),
  );
  expect(leader.items.slice(1)).toEqual([
    { kind: 'step', lease: lease(1), name: '$signal/go', body: '{"timeout":true}' },
    completed(null),
  ]);
  expect(seen).toEqual([undefined]);
});

test('a timed-out wait stays timed out, and one that was woken too early waits for the rest', async () => {
  const seen: unknown[] = [];
  await run(
    async ({ waitFor }) => {
      seen.push(await waitFor('first', { timeout: '1m' }));
      await waitFor('second', { timeout: '1m' });
    },
    recorded({
      '$until/first': { until: 1 },
      '$signal/first': { timeout: true },
      '$until/second': { until: 1_000_007 },
    }),
  );
  expect(seen).toEqual([undefined]);
  expect(lastItem()).toEqual(
    suspended({
      sleeps: [{ step: '$until/second', forMs: 7 }],
      signals: [{ step: '$signal/second', name: 'second' }],
    }),
  );
});

test('a wait with timeout 0 takes an existing signal', async () => {
  await run(({ waitFor }) => waitFor('go', { timeout: 0 }));
  expect(lastItem()).toEqual(
    suspended({
      sleeps: [{ step: '$until/go', forMs: 0 }],
      signals: [{ step: '$signal/go', name: 'go' }],
    }),
  );
});

test('a call submits a job under an id that is the same for every attempt of the run', async () => {
  const ids: string[] = [];
  const calling: Handler = ({ call }) =>
    Promise.all([call('first', child, 1), call('second', child, 2)]);
  for (const given of [{}, { attempt: 2 }, { run: 2 }]) {
    leader = new FakeLeader();
    await run(calling, given);
    const item = leader.items.at(-1)!;
    if (item.kind !== 'suspended' || item.until.type !== 'wait') throw new Error(item.kind);
    expect(item.until.jobs).toMatchObject([
      { step: '$job/first', document: child.toDocument(1) },
      { step: '$job/second', document: child.toDocument(2) },
    ]);
    ids.push(...item.until.jobs.map(({ jobId }) => jobId));
  }
  expect(ids.every((id) => id.startsWith('job.') && isId(id))).toBe(true);
  expect(ids.slice(0, 2)).toEqual(ids.slice(2, 4));
  expect(new Set(ids).size).toBe(4);
});

test('a call whose job has succeeded returns its result, parsed by the called flow', async () => {
  await run(
    ({ call }) => call('it', child, 1),
    recorded({ '$job/it': { jobId: 'job.x', state: 'succeeded', result: [1], error: null } }),
  );
  expect(lastItem()).toEqual(completed('read [1]'));
});

test.each([
  [
    { state: 'failed', error: { code: 'E_PAY', message: 'no money' } },
    'the job job.x (child) failed: no money (E_PAY)',
  ],
  [{ state: 'cancelled', error: null }, 'the job job.x (child) was cancelled'],
])('a call whose job did not succeed throws: %j', async (end, message) => {
  const seen: unknown[] = [];
  await run(
    async ({ call }) => {
      await call('it', child, 1).catch((error: unknown) => {
        seen.push(error);
        throw error;
      });
    },
    recorded({ '$job/it': { jobId: 'job.x', result: null, ...end } }),
  );
  expect(seen).toMatchObject([{ name: 'ChildJobError', jobId: 'job.x', ...end }]);
  expect(lastItem()).toEqual({
    kind: 'failed',
    lease: lease(1),
    failure: 'fatal',
    error: { code: 'child_job_failed', message },
  });
});
