import { expect, test, vi } from 'vitest';
import type { DatedJob } from '../../client/index.ts';
import type { EventShape, QueryShape } from '../../scheduler/contract/index.ts';
import { type Finding, findingsOf } from '../demo/findings.ts';
import type { DemoOutcome } from '../demo/story.ts';
import { exit } from '../exit.ts';
import { run } from '../program.ts';

const story = vi.hoisted(() => ({ tell: vi.fn<() => Promise<unknown>>() }));
vi.mock('../demo/story.ts', () => story);

const report = {
  sales: 8,
  euroCents: 4_210,
  totals: [{ currency: 'EUR', sales: 8, cents: 4_210 }],
};
const event = (kind: string, task: string, node: string): EventShape =>
  ({ kind, task, node }) as unknown as EventShape;

const query = {
  ...{ id: 'q-1', state: 'succeeded', single: null },
  stages: [
    { tasks: { total: 4 }, rowsIn: 8 },
    { tasks: { total: 4 }, rowsIn: 4 },
  ],
} as unknown as QueryShape;

const good: DemoOutcome = {
  job: {
    id: 'j-1',
    state: 'succeeded',
    tasks: [
      { id: 'order', state: 'succeeded' },
      { id: 'report', state: 'succeeded' },
    ],
    result: { report, order: { receipt: 'receipt-1', parcel: 'parcel-1' } },
  } as unknown as DatedJob,
  events: [
    event('reassigned', 'order', 'w-1'),
    event('completed', 'order', 'w-2'),
    event('completed', 'report', 'w-3'),
  ],
  kill: {
    ...{ worker: 'w-1', pid: 1, endedBy: 'SIGKILL', held: ['order', 'sales.item.3'] },
    recovery: { worker: 'w-2', pid: 2, ms: 40 },
  },
  deeds: { charges: ['receipt-1'], parcels: ['parcel-1'] },
  expected: report,
  files: 8,
  query,
  workers: [
    { id: 'w-1', pid: 1 },
    { id: 'w-2', pid: 2 },
  ],
};

function wrongIn(outcome: DemoOutcome): Finding['name'][] {
  return findingsOf(outcome)
    .filter(({ isSo }) => !isSo)
    .map(({ name }) => name);
}

const { job, events, kill, deeds } = good;
const killed = kill ?? expect.unreachable();

test('nothing is wrong when all went as it should', () => {
  expect(wrongIn(good)).toEqual([]);
});

test.each<[string, Partial<DemoOutcome>, Finding['name']]>([
  [
    'a task that did not succeed',
    { job: { ...job, tasks: job.tasks.map((task) => ({ ...task, state: 'failed' as const })) } },
    'allSucceeded',
  ],
  ['a query that ran whole', { query: { ...query, single: 'it is small' } }, 'queryDivided'],
  ['no query', { query: null }, 'queryDivided'],
  ['a second completion', { events: [...events, ...events.slice(-1)] }, 'eachCompletedOnce'],
  ['a missing completion', { events: events.slice(0, -1) }, 'eachCompletedOnce'],
  ['a worker that ended by itself', { kill: { ...killed, endedBy: 0 } }, 'workerKilled'],
  ['a worker without the order', { kill: { ...killed, held: ['sales.item.3'] } }, 'workerKilled'],
  ['a worker that nobody replaced', { kill: { ...killed, recovery: null } }, 'recoveredElsewhere'],
  [
    'the same process again',
    { kill: { ...killed, recovery: { worker: 'w-2', pid: killed.pid, ms: 1 } } },
    'recoveredElsewhere',
  ],
  [
    'another worker that completed it',
    { kill: { ...killed, recovery: { worker: 'w-3', pid: 3, ms: 1 } } },
    'recoveredElsewhere',
  ],
  ['no word of it in the log', { events: events.slice(1) }, 'recoveredElsewhere'],
  [
    'a second charge',
    { deeds: { ...deeds, charges: ['receipt-1', 'receipt-2'] } },
    'finishedStepNotRepeated',
  ],
  [
    'a receipt that is not the one that was given',
    { deeds: { ...deeds, charges: ['receipt-2'] } },
    'finishedStepNotRepeated',
  ],
  [
    'a second parcel',
    { deeds: { ...deeds, parcels: ['parcel-1', 'parcel-2'] } },
    'laterStepDoneOnce',
  ],
  ['another answer', { expected: { ...report, euroCents: 4_211 } }, 'answerRight'],
])('%s is found out, and nothing else is blamed', (_what, wrong, name) => {
  expect(wrongIn({ ...good, ...wrong })).toEqual([name]);
});

test('a job that failed before anybody was killed gets no praise', () => {
  const none = { charges: [], parcels: [] };
  const failed = { ...job, state: 'failed' as const, result: null, tasks: [] };
  const outcome = {
    ...good,
    job: failed,
    events: [],
    kill: null,
    query: null,
    deeds: none,
    expected: null,
  };
  expect(wrongIn(outcome)).toEqual(
    findingsOf(good)
      .map(({ name }) => name)
      .filter((name) => name !== 'eachCompletedOnce'),
  );
});

async function demo(...args: readonly string[]) {
  let out = '';
  let err = '';
  const code = await run(['demo', ...args], {
    out: (text) => (out += text),
    err: (text) => (err += text),
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

test('it ends with 0 only if every claim was found true', async () => {
  story.tell.mockResolvedValueOnce(good);
  const right = await demo();
  expect(right.code).toBe(exit.done);
  expect(right.out).toContain('ok     w-2 had resumed order 40 ms after the kill');
  expect(right.out).not.toContain('WRONG');

  story.tell.mockResolvedValue({ ...good, expected: { ...report, sales: 9 } });
  const wrong = await demo();
  expect(wrong.code).toBe(exit.workFailed);
  expect(wrong.out).toMatch(/^WRONG {2}8 sales worth 42\.10 EUR, but 9 sales/m);
  const machine = await demo('--json');
  expect(machine.code).toBe(exit.workFailed);
  expect(JSON.parse(machine.out)).toMatchObject({
    isRight: false,
    checks: { answerRight: false, workerKilled: true },
    kill: { worker: 'w-1', recovery: { ms: 40 } },
    steps: { charge: 1, ship: 1 },
  });
});

test.each(['0', '10000001', 'many', '-1'])('--rows %s is wrong use', async (rows) => {
  const { code, err } = await demo(`--rows=${rows}`);
  expect(code).toBe(exit.wrongUse);
  expect(err).toContain('for --rows');
});
