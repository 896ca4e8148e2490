import { describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../scheduler/core/index.ts';
import type { Lease } from '../gen/millrace/v1/types.ts';
import type { Event, Job, NodeInfo } from '../gen/millrace/v1/job.ts';
import type {
  TaskAssignment,
  TaskInputLost,
  TaskReport,
  TaskSuspended,
  TaskWait,
} from '../gen/millrace/v1/task.ts';
import type {
  CalledJob,
  Session,
  WorkerReport,
  WorkerSuspension,
} from '../../../scheduler/contract/worker-service.ts';
import { fromWireJobReply, fromWireNewJob, fromWireSignal, toWireNewJob } from './change.ts';
import { fromWireEventPage, fromWireNode } from './cluster.ts';
import { fromWireJob, fromWireJobsQuery } from './jobs.ts';
import { fromWireLease, fromWireLeases, fromWireOrders } from './lease.ts';
import { fromWireUnneeded } from './outputs.ts';
import { fromWirePollReply } from './poll.ts';
import { fromWireReportReply, fromWireReports, reportParts } from './report.ts';
import { fromWireLogsQuery } from './task-logs.ts';
import { fromWireBeat, fromWireRegister, fromWireRegistered } from './session.ts';
import { wireCount, wireNumber, toWireTime } from './values.ts';

/** What the compiler would never let through, and a stranger sends all the same. */
const hostile = <T>(value: unknown): T => value as T;
const anySignal = { step: 's', name: 'n', shapeJson: '', matchJson: '' };
const longField = JSON.stringify([['a'.repeat(201), 1]]);
const anyTime = { sinceMs: 0n, untilMs: 0n };
const anyJobs = {
  ...{ state: 0 as const, name: '', labels: [], limit: 0, cursor: '' },
  ...{ waitingFor: '', schedule: '', startedBy: '', ...anyTime },
};

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    if (isMillraceError(thrown)) return thrown.code;
    throw thrown;
  }
  return 'nothing thrown';
}

const lease: Lease = { jobNo: 1n, taskNo: 0, fence: 1n, term: 't', jobId: 'j' };
const bytes = (text: string): Buffer => Buffer.from(text);
const report = (given: Partial<TaskReport>): TaskReport =>
  hostile({ lease, queryId: '', what: undefined, ...given });
const reports = (...list: TaskReport[]): unknown =>
  fromWireReports({ workerId: 'n', sessionId: 's', reports: list });

const lost = (given: Partial<TaskInputLost>): unknown => {
  const value = { lost: [], error: { code: 'c', message: 'm' }, ...given };
  return reports(report({ what: { $case: 'inputLost', value } }));
};
const suspended = (until: TaskSuspended['until']): unknown =>
  reports(report({ what: { $case: 'suspended', value: { until } } }));
const waiting = (wait: Partial<TaskWait>): unknown =>
  suspended({ $case: 'wait', value: { sleeps: [], signals: [], jobs: [], ...wait } });

const assigned = (given: Partial<TaskAssignment>): unknown => {
  const task = hostile<TaskAssignment>({ ...anAssignment, ...given });
  const orders = { abort: [], drain: false, slowDownMs: 0, fetchWindowBytes: 0n, fetchAhead: [] };
  return fromWirePollReply({ tasks: [task], orders });
};
const anAssignment: Partial<TaskAssignment> = {
  lease,
  labels: {},
  queryId: 'j',
  taskName: 't',
  executor: 'e',
  runTimeoutMs: 0n,
  planFragmentJson: Buffer.alloc(0),
  inputJson: bytes('1'),
  idempotencyKey: '',
  steps: [],
  children: [],
  assignedAtMs: 1n,
};

const OPERATOR = {
  ...{ name: 'geo', kind: 'operator', input: null, output: [{ name: 'a', type: 'INTEGER' }] },
  ...{ distribution: 'any', parameters: null, isDeterministic: true },
};

function registered(operators: unknown): unknown {
  const named = { workerId: 'n', sessionId: 's', executors: [], capabilitiesJson: bytes('') };
  const operatorsJson = bytes(JSON.stringify(operators));
  return fromWireRegister(hostile({ ...named, operatorsJson, flowsJson: bytes('') }));
}

const FLOW = { name: 'order', version: '0123456789ab', input: {}, template: {} };

function published(flows: string): unknown {
  const named = { workerId: 'n', sessionId: 's', executors: [], capabilitiesJson: bytes('') };
  const given = { ...named, operatorsJson: bytes(''), flowsJson: bytes(flows) };
  return fromWireRegister(hostile(given));
}

test('the largest exact number passes, the next one is refused', () => {
  expect(fromWireLease({ ...lease, fence: 2n ** 53n - 1n }).fence).toBe(Number.MAX_SAFE_INTEGER);
  for (const value of [2n ** 53n, 2n ** 64n - 1n]) {
    expect(codeOf(() => fromWireLease({ ...lease, fence: value }))).toBe('bad_input');
    expect(codeOf(() => fromWireLease({ ...lease, jobNo: value }))).toBe('bad_input');
  }
});

describe('bad input is', () => {
  test.each<[string, () => unknown]>([
    ['no lease', () => fromWireLease(undefined)],
    ['a lease without a term', () => fromWireLease({ ...lease, term: '' })],
    ['a lease of a long term', () => fromWireLease({ ...lease, term: 't'.repeat(201) })],
    ['a lease of a long job', () => fromWireLease({ ...lease, jobId: 'j'.repeat(201) })],
    ['a task number beyond the limit', () => fromWireLease({ ...lease, taskNo: 2 ** 18 })],
    [
      'leases without end',
      () =>
        fromWireLeases(
          Array.from({ length: 200_001 }, () => lease),
          'held',
        ),
    ],
    ['no orders', () => fromWireOrders(undefined)],
    ['a report about no lease', () => reports(report({ lease: undefined }))],
    ['a report about nothing', () => reports(report({}))],
    ['reports without end', () => reports(...Array<TaskReport>(100_001).fill(report({})))],
    [
      'a failure of no class',
      () =>
        reports(
          report({
            what: {
              $case: 'failed',
              value: { error: { code: 'c', message: '' }, failure: 0, missing: '' },
            },
          }),
        ),
    ],
    [
      'a failure without an error',
      () =>
        reports(
          report({
            what: { $case: 'failed', value: { error: undefined, failure: 1, missing: '' } },
          }),
        ),
    ],
    [
      'a result that is not text',
      () =>
        reports(
          report({ what: { $case: 'completed', value: { resultJson: Buffer.from([0xff]) } } }),
        ),
    ],
    [
      'a step without a name',
      () => reports(report({ what: { $case: 'step', value: { name: '', bodyJson: bytes('1') } } })),
    ],
    ['a lost input without an error', () => lost({ lost: [], error: undefined })],
    ['a lost output of no task', () => lost({ lost: [{ taskId: '', fence: 1n }] })],
    [
      'a lost output beyond all fences',
      () => lost({ lost: [{ taskId: 't', fence: 2n ** 64n - 1n }] }),
    ],
    [
      'more lost outputs than there are tasks',
      () => lost({ lost: Array.from({ length: 100_001 }, () => ({ taskId: 't', fence: 1n })) }),
    ],
    [
      'a query without an id',
      () => fromWireUnneeded({ workerId: 'n', sessionId: 's', queryIds: [''], isInner: false }),
    ],
    [
      'more queries than a worker keeps',
      () =>
        fromWireUnneeded({
          workerId: 'n',
          sessionId: 's',
          queryIds: Array.from({ length: 100_001 }, () => 'q'),
          isInner: false,
        }),
    ],
    ['a suspension until nothing', () => suspended(undefined)],
    ['a sleep without a name', () => suspended({ $case: 'forMs', value: 5n })],
    ['a sleep with an empty name', () => waiting({ sleeps: [{ step: '', forMs: 1n }] })],
    [
      'a sleep beyond all numbers',
      () => waiting({ sleeps: [{ step: 's', forMs: 2n ** 64n - 1n }] }),
    ],
    ['a wait for no signal', () => waiting({ signals: [{ ...anySignal, name: '' }] })],
    ['a signal that goes nowhere', () => waiting({ signals: [{ ...anySignal, step: '' }] })],
    ['half a condition', () => waiting({ signals: [{ ...anySignal, matchJson: '[["a"' }] })],
    ['no condition', () => waiting({ signals: [{ ...anySignal, matchJson: '{"a":1}' }] })],
    ['a long field', () => waiting({ signals: [{ ...anySignal, matchJson: longField }] })],
    [
      'a wait for no job',
      () => waiting({ jobs: [{ step: 's', jobId: '', documentJson: bytes('{}') }] }),
    ],
    [
      'a called job that is not JSON',
      () => waiting({ jobs: [{ step: 's', jobId: 'j', documentJson: bytes('') }] }),
    ],
    [
      'a called job that is not text',
      () => waiting({ jobs: [{ step: 's', jobId: 'j', documentJson: Buffer.from([0xff]) }] }),
    ],
    ['children that are no JSON', () => suspended({ $case: 'childrenJson', value: bytes('[') })],
    ['children that are no list', () => suspended({ $case: 'childrenJson', value: bytes('{}') })],
    ['logs of a job with NUL', () => fromWireLogsQuery(hostile({ jobId: 'a\0b', after: 0n }))],
    [
      'logs of a task with NUL',
      () => fromWireLogsQuery(hostile({ jobId: 'a', after: 0n, taskId: 'b\0' })),
    ],
    ['jobs by a time', () => fromWireJobsQuery(hostile({ ...anyJobs, sinceMs: 2n ** 60n }))],
    ['jobs by a signal', () => fromWireJobsQuery(hostile({ ...anyJobs, waitingFor: 'a"' }))],
    ['jobs by a starter', () => fromWireJobsQuery(hostile({ ...anyJobs, startedBy: 'a/b' }))],
    ['jobs by a name with NUL', () => fromWireJobsQuery(hostile({ ...anyJobs, name: 'a\0' }))],
    [
      'jobs after a cursor with NUL',
      () => fromWireJobsQuery(hostile({ ...anyJobs, cursor: '\0' })),
    ],
    ['a signal to no job', () => fromWireSignal(hostile({ jobId: '' }), () => 's')],
    ['a signal of no name', () => fromWireSignal(hostile({ jobId: 'j', name: '' }), () => 's')],
    [
      'a signal that is not text',
      () =>
        fromWireSignal(
          hostile({ jobId: 'j', name: 'n', bodyJson: Buffer.from([0xff]) }),
          () => 's',
        ),
    ],
    [
      'a child in no state',
      () => assigned({ children: [{ id: 'c', state: 0, error: undefined }] }),
    ],
    [
      'a child without a name',
      () => assigned({ children: [{ id: '', state: 1, error: undefined }] }),
    ],
    ['an assignment beyond all time', () => assigned({ assignedAtMs: 2n ** 53n })],
    ['a schedule beyond all time', () => assigned({ scheduledAtMs: 2n ** 53n })],
    ['a worker without a name', () => fromWireBeat(hostile({ workerId: '', held: [] }))],
    [
      'executors without end',
      () =>
        fromWireRegister(
          hostile({
            workerId: 'n',
            sessionId: 's',
            executors: Array(1_001).fill('x'),
            capabilitiesJson: bytes(''),
            operatorsJson: bytes(''),
            flowsJson: bytes(''),
          }),
        ),
    ],
    [
      'an operator whose name is not an identifier',
      () => registered([{ ...OPERATOR, name: 'a"; drop' }]),
    ],
    ['an operator without output', () => registered([{ ...OPERATOR, output: [] }])],
    ['an operator that is declared twice', () => registered([OPERATOR, OPERATOR])],
    ['operators that are not a list', () => registered({})],
    ['flows that are not a list', () => published('{}')],
    ['flows that are not JSON', () => published('[')],
    ['a flow whose name is a path', () => published(JSON.stringify([{ ...FLOW, name: '../x' }]))],
    ['a flow that is published twice', () => published(JSON.stringify([FLOW, FLOW]))],
    [
      'capabilities that are no JSON',
      () =>
        fromWireRegister(
          hostile({
            executors: [],
            capabilitiesJson: bytes('{'),
            operatorsJson: bytes(''),
            flowsJson: bytes(''),
          }),
        ),
    ],
    [
      'capabilities that are a list',
      () =>
        fromWireRegister(
          hostile({
            executors: [],
            capabilitiesJson: bytes('[]'),
            operatorsJson: bytes(''),
            flowsJson: bytes(''),
          }),
        ),
    ],
    ['a session without a time to live', () => fromWireRegistered(hostile({ sessionTtlMs: 0 }))],
    [
      'a session without heartbeats',
      () => fromWireRegistered(hostile({ sessionTtlMs: 1, heartbeatMs: 0 })),
    ],
    ['too few verdicts', () => fromWireReportReply({ verdicts: [], orders: undefined }, 1)],
    ['a verdict that is none', () => fromWireReportReply({ verdicts: [0], orders: undefined }, 1)],
    [
      'a document that is not JSON',
      () => fromWireNewJob(hostile({ documentJson: bytes('{') }), () => hostile('j'), null),
    ],
    ['a document that has no JSON', () => toWireNewJob(hostile({ document: undefined }))],
    ['a state that is none', () => fromWireJobReply(hostile({ id: 'j', state: 9 }))],
    ['a search for a state that is none', () => fromWireJobsQuery(hostile({ state: 77 }))],
    ['a job of no priority', () => fromWireJob(hostile<Job>({ ...aJob, priority: 4 }))],
    [
      'a task in no state',
      () => fromWireJob(hostile<Job>({ ...aJob, tasks: [{ id: 't', state: 0 }] })),
    ],
    [
      'a time beyond all dates',
      () => fromWireJob(hostile<Job>({ ...aJob, createdAtMs: 2n ** 62n })),
    ],
    ['a node of no status', () => fromWireNode(hostile<NodeInfo>({ status: 'great' }))],
    [
      'a node whose capabilities are no object',
      () =>
        fromWireNode(hostile<NodeInfo>({ id: 'n', status: 'dead', capabilitiesJson: bytes('1') })),
    ],
    [
      'an event of no kind',
      () => fromWireEventPage({ events: [hostile<Event>({ kind: 'x' })], asOf: undefined }),
    ],
    ['half a number', () => wireNumber(0.5, 'x')],
    ['a count below nothing', () => wireCount(-1, 'x')],
    ['a time that is none', () => toWireTime(new Date('soon'), 'x')],
  ])('%s', (_name, act) => {
    expect(codeOf(act)).toBe('bad_input');
  });

  const aJob = {
    id: 'j',
    no: 1n,
    state: 1,
    priority: 0,
    createdAtMs: 1n,
    startedAtMs: 0n,
    finishedAtMs: 0n,
    tasks: [],
    history: [],
    idempotencyKey: '',
    scheduleId: '',
    scheduledAtMs: 0n,
    runAtMs: 0n,
    labels: {},
  };
});

test.each<[string, unknown]>([
  ['a circle', circle()],
  ['a function', () => 1],
  ['a number that is none of JSON', [1n]],
])('a document that is %s never leaves the worker', (_name, document) => {
  const item = (until: WorkerSuspension): WorkerReport => {
    return { kind: 'suspended', lease: fromWireLease(lease), until };
  };
  const job = { step: 's', jobId: hostile<CalledJob['jobId']>('j'), document };
  const wait = { type: 'wait', sleeps: [], signals: [], jobs: [job] } as const;
  const parts = (report: WorkerReport): unknown => [...reportParts(hostile<Session>({}), [report])];
  expect(codeOf(() => parts(item(wait)))).toBe('bad_input');
  const tasks = hostile<readonly unknown[]>(document);
  expect(codeOf(() => parts(item({ type: 'children', tasks })))).toBe('bad_input');
});

function circle(): unknown {
  const round: unknown[] = [];
  round.push(round);
  return round;
}

test.each([-1, 0.5, Number.NaN, 2 ** 53])('a sleep of %s ms never leaves the worker', (forMs) => {
  const until = { type: 'wait', sleeps: [{ step: 's', forMs }], signals: [], jobs: [] } as const;
  const item: WorkerReport = { kind: 'suspended', lease: fromWireLease(lease), until };
  expect(codeOf(() => [...reportParts(hostile<Session>({}), [item])])).toBe('bad_input');
});

test('the unmodified messages are accepted', () => {
  expect(codeOf(() => assigned({}))).toBe('nothing thrown');
  expect(codeOf(() => waiting({}))).toBe('nothing thrown');
  const child = { id: 'c', state: 1, error: undefined } as const;
  expect(codeOf(() => assigned({ children: [child] }))).toBe('nothing thrown');
});

test('a job without an id gets one', () => {
  const given = { documentJson: bytes('{}'), jobId: '' };
  expect(fromWireNewJob(given, () => hostile('fresh'), null).jobId).toBe('fresh');
});

test('a list without a limit, or with too large a one, gets the default', () => {
  expect(fromWireJobsQuery({ ...anyJobs, limit: 0 })).toEqual({ limit: 100 });
  expect(fromWireJobsQuery({ ...anyJobs, limit: 2 ** 32 - 1 })).toEqual({ limit: 1_000 });
});
