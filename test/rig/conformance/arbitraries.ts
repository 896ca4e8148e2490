/** Any row that the port allows, for property tests: every column takes every value it may hold. */
import fc from 'fast-check';
import {
  type EventRow,
  instant,
  type Instant,
  isFinished,
  isTerminal,
  JOB_STATES,
  type JobRow,
  jobNo,
  type KeyRow,
  LOG_KINDS,
  type NodeRow,
  PRIORITIES,
  type ScheduleRow,
  type SignalRow,
  TASK_STATES,
  type TaskError,
  taskNo,
  type TaskRow,
  type TaskSpecRow,
} from '../../../src/scheduler/core/index.ts';
import { jobId, nodeId, scheduleId, sessionId, taskId, termId } from './rows.ts';

const INT32_MAX = 2 ** 31 - 1;
/** The last instant that JavaScript can write as a date; close to 2^53. */
const INSTANT_MAX = 8_640_000_000_000_000;

const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { freq: 3 });
const small = fc.oneof(fc.nat(5), fc.nat(INT32_MAX), fc.constant(INT32_MAX));
const large = fc.oneof(fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const at: fc.Arbitrary<Instant> = fc
  .oneof(fc.integer({ min: 0, max: INSTANT_MAX }), fc.constant(0), fc.constant(INSTANT_MAX))
  .map(instant);

/** Any text a database can hold: all of Unicode but NUL. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
  fc.constantFrom('', ' ', "'", '\\', '"', '\\N', '\n', 'null', '{}', '🦆', 'e\u0301', '\uffff'),
);

/** JSON text is kept to the letter: escapes, spaces, the spelling of numbers, the order of keys. */
const jsonText = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '"\\u0000"',
    '"\\ud800"',
    '{"b":1,"a":"\\udc00x"}',
    '9007199254740993',
    '1.0',
    '1e400',
    '{ "a" : [ ] }',
    '""',
    'null',
  ),
);

const id = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.:@+=-]{0,20}$/);
const priority = fc.constantFrom(...PRIORITIES);
const error: fc.Arbitrary<TaskError | null> = orNull(
  fc.record({ code: anyText, message: anyText }),
);

export function jobs(count: number): fc.Arbitrary<JobRow[]> {
  return fc.tuple(...Array.from({ length: count }, (_, index) => job(index + 1)));
}

function job(no: number): fc.Arbitrary<JobRow> {
  return fc
    .record({
      idText: id,
      name: anyText,
      priority,
      idempotencyKey: orNull(anyText),
      maxParallel: orNull(small.map((value) => Math.max(1, value))),
      onFailure: fc.constantFrom('finish' as const, 'cancel' as const),
      totalMs: orNull(large),
      scheduleId: orNull(id.map(scheduleId)),
      output: orNull(jsonText),
      labels: fc.uniqueArray(anyText, { maxLength: 3 }),
      runAt: orNull(at),
      options: orNull(jsonText),
      createdAt: at,
      state: fc.constantFrom(...JOB_STATES),
      run: small,
      taskCount: small,
      stopping: orNull(fc.constantFrom('cancel' as const, 'timeout' as const, 'failure' as const)),
      error,
      startedAt: orNull(at),
      ended: at,
    })
    .map(({ idText, ended, ...row }) => ({
      ...row,
      no: jobNo(no),
      // The number makes ids and keys unique; what else is in them is any text.
      id: jobId(`${no}_${idText}`),
      idempotencyKey: row.idempotencyKey === null ? null : `${no}${row.idempotencyKey}`,
      finishedAt: isFinished(row.state) ? ended : null,
    }));
}

export function spec(job: number, no: number): fc.Arbitrary<TaskSpecRow> {
  return fc
    .record({
      idText: id,
      executor: id,
      priority,
      parentNo: orNull(small.map(taskNo)),
      dependsOn: fc.array(
        fc.oneof(
          small,
          small.map((edge) => ~edge),
        ),
        { maxLength: 4 },
      ),
      idempotencyKey: orNull(anyText),
      options: orNull(jsonText),
      input: orNull(jsonText),
    })
    .map(({ idText, ...row }) => ({
      ...row,
      jobNo: jobNo(job),
      taskNo: taskNo(no),
      id: taskId(`${no}_${idText}`),
    }));
}

export function task(job: number, no: number): fc.Arbitrary<TaskRow> {
  return fc
    .record({
      state: fc.constantFrom(...TASK_STATES),
      run: small,
      attempt: small,
      failures: small,
      losses: small,
      fence: small,
      term: orNull(id.map(termId)),
      nodeId: orNull(id.map(nodeId)),
      session: id.map(sessionId),
      stopping: orNull(fc.constantFrom('cancel' as const, 'timeout' as const)),
      suspended: orNull(
        fc.constantFrom('time' as const, 'children' as const, 'signal' as const, 'job' as const),
      ),
      waits: orNull(jsonText),
      notBefore: orNull(at),
      // Zero has one sign in a database.
      progress: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
      error,
      queuedAt: orNull(at),
      startedAt: orNull(at),
      ended: at,
    })
    .map(({ session, ended, ...row }) => ({
      ...row,
      jobNo: jobNo(job),
      taskNo: taskNo(no),
      sessionId: row.state === 'running' ? session : null,
      stopping: row.state === 'running' ? row.stopping : null,
      fence: row.state === 'running' ? Math.max(1, row.fence) : row.fence,
      notBefore: row.state === 'delayed' ? (row.notBefore ?? ended) : row.notBefore,
      finishedAt: isTerminal(row.state) ? ended : null,
    }));
}

export const body: fc.Arbitrary<string> = jsonText;

export function signals(job: number): fc.Arbitrary<SignalRow[]> {
  const row: fc.Arbitrary<SignalRow> = fc.record({
    jobNo: fc.constant(jobNo(job)),
    no: small,
    id: anyText,
    name: anyText,
    body: jsonText,
    sentAt: at,
    taken: fc.boolean(),
  });
  const numbers = fc.uniqueArray(row, { selector: ({ no }) => no, maxLength: 4 });
  // The number makes ids unique; what else is in them is any text.
  return numbers.map((rows) =>
    rows.map((signal) => ({ ...signal, id: `${signal.no}${signal.id}` })),
  );
}

export function keys(): fc.Arbitrary<KeyRow[]> {
  const row = fc
    .record({
      scope: anyText,
      state: fc.constantFrom('pending' as const, 'completed' as const),
      jobNo: large.map(jobNo),
      taskNo: small.map(taskNo),
      result: orNull(jsonText),
      updatedAt: at,
    })
    .map((key) => ({ ...key, result: key.state === 'pending' ? null : key.result }));
  return fc.uniqueArray(row, { selector: (key) => key.scope, maxLength: 4 });
}

export function nodes(): fc.Arbitrary<NodeRow[]> {
  const row: fc.Arbitrary<NodeRow> = fc.record({
    id: id.map(nodeId),
    sessionId: id.map(sessionId),
    status: fc.constantFrom('healthy' as const, 'stale' as const, 'dead' as const),
    draining: fc.boolean(),
    slots: small,
    prefetch: small,
    executors: fc.array(anyText, { maxLength: 3 }),
    capabilities: jsonText,
    address: orNull(anyText),
    version: anyText,
    quarantinedUntil: orNull(at),
    registeredAt: at,
    seenAt: at,
  });
  return fc.uniqueArray(row, { selector: (node) => node.id, maxLength: 3 });
}

export function schedules(): fc.Arbitrary<ScheduleRow[]> {
  const row: fc.Arbitrary<ScheduleRow> = fc.record({
    id: id.map(scheduleId),
    spec: jsonText,
    paused: fc.boolean(),
    nextAt: orNull(at),
    lastAt: orNull(at),
    lastJobId: orNull(id.map(jobId)),
  });
  return fc.uniqueArray(row, { selector: (schedule) => schedule.id, maxLength: 3 });
}

export function events(): fc.Arbitrary<Omit<EventRow, 'seq'>[]> {
  return fc.array(
    fc.record({
      at,
      kind: fc.constantFrom(...LOG_KINDS),
      jobNo: orNull(fc.oneof(fc.constant(1), large).map(jobNo)),
      taskNo: orNull(fc.oneof(fc.constant(0), small).map(taskNo)),
      nodeId: orNull(id.map(nodeId)),
      run: orNull(small),
      attempt: orNull(small),
      fence: orNull(small),
      detail: orNull(jsonText),
    }),
    { maxLength: 5 },
  );
}
