import { expect, test } from 'vitest';
import { instant, jobNo, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName, TaskId, TermId } from '../../../scheduler/core/index.ts';
import type { ReadyAssignment, Session, WorkerReport } from '../../../scheduler/contract/index.ts';
import { GetTaskResponse, TaskReport } from '../gen/millrace/v1/task.ts';
import { TaskState } from '../gen/millrace/v1/types.ts';
import { fromWirePollReply, toWirePollReply } from './poll.ts';
import { fromWireReports, reportParts } from './report.ts';

const LEASE: LeaseName = {
  jobId: 'q' as JobId,
  jobNo: jobNo(3),
  taskNo: taskNo(7),
  fence: 12,
  term: 'term' as TermId,
};
const SESSION = { nodeId: 'w', sessionId: 's' } as Session;

function assignment(executor: string, taskId: string): ReadyAssignment {
  return {
    ...{ lease: LEASE, jobId: LEASE.jobId, taskId: taskId as TaskId, executor, run: 1, attempt: 2 },
    ...{ runMs: null, resumed: false, idempotencyKey: null, steps: [], children: [] },
    ...{ input: '{"sql":"x"}', hasChildren: false, assignedAt: instant(1), scheduledAt: null },
    trace: null,
  };
}

const reply = (each: ReadyAssignment) =>
  toWirePollReply({
    assignments: [each],
    orders: { abort: [], drain: false, slowDownMs: 0 },
  });

test('a fragment is named by stage and index, and its input is the fragment', () => {
  const { tasks } = reply(assignment('sql.fragment', 's4.5'));
  expect(tasks).toMatchObject([
    { queryId: 'q', stageId: 4n, taskId: 5n, attempt: 2, layoutVersion: 1 },
  ]);
  expect(tasks[0]?.lease?.fence).toBe(12n);
  expect(String(tasks[0]?.planFragmentJson)).toBe('{"sql":"x"}');
  expect(tasks[0]?.inputJson).toHaveLength(0);
});

test('any other task is named by its number, whatever its id looks like', () => {
  const { tasks } = reply(assignment('echo', 's4.5'));
  expect(tasks).toMatchObject([{ stageId: 0n, taskId: 7n, layoutVersion: 0 }]);
  expect(String(tasks[0]?.inputJson)).toBe('{"sql":"x"}');
  expect(tasks[0]?.planFragmentJson).toHaveLength(0);
});

test('reports repeat the names that came with the assignment', () => {
  const wire = GetTaskResponse.encode(reply(assignment('sql.fragment', 's4.5'))).finish();
  const [received] = fromWirePollReply(GetTaskResponse.decode(wire)).assignments;
  expect(received?.input).toBe('{"sql":"x"}');
  const lease = received?.lease ?? LEASE;
  const failure = { kind: 'failed', lease, error: { code: 'c', message: 'why' }, failure: 'fatal' };
  const [part] = reportParts(SESSION, [failure as WorkerReport, { kind: 'started', lease: LEASE }]);
  const names = { queryId: 'q', stageId: 4n, taskId: 5n, attempt: 2, message: 'why' };
  expect(part?.request.reports).toMatchObject([names, { queryId: '', attempt: 0 }]);
});

const NUMBERS = { jobNo: 3n, taskNo: 7, fence: 12n, term: 'term', jobId: 'q' };
const EMPTY = { ...TaskReport.decode(Buffer.alloc(0)), lease: NUMBERS };
const given = (report: object): readonly WorkerReport[] =>
  fromWireReports({ workerId: 'w', sessionId: 's', reports: [{ ...EMPTY, ...report }] }).items;

test('a bare state is a short form of the report', () => {
  expect(given({ state: TaskState.TASK_STATE_RUNNING })).toEqual([
    { kind: 'started', lease: LEASE },
  ]);
  expect(given({ state: TaskState.TASK_STATE_SUCCEEDED })).toEqual([
    { kind: 'completed', lease: LEASE, result: null },
  ]);
  expect(given({ state: TaskState.TASK_STATE_FAILED, message: 'why' })).toEqual([
    {
      kind: 'failed',
      lease: LEASE,
      error: { code: 'task_failed', message: 'why' },
      failure: 'retryable',
    },
  ]);
  expect(() => given({ state: TaskState.TASK_STATE_SKIPPED })).toThrow('It is missing.');
});

test('refuses a report that names another query than its lease', () => {
  expect(() => given({ queryId: 'p', state: TaskState.TASK_STATE_RUNNING })).toThrow(
    'The lease is one of job q, not of p.',
  );
});

test('a leader that does not know of submissions refuses them, and does not take them for a start', () => {
  const item: WorkerReport = {
    kind: 'submitted',
    lease: LEASE,
    run: 1,
    name: 'mail',
    document: { tasks: [] },
  };
  const [part] = [...reportParts(SESSION, [item])];
  // What it does not know is gone when it has decoded the report.
  const reports = (part?.request.reports ?? []).map((each) => ({ ...each, what: undefined }));
  const request = { workerId: 'w', sessionId: 's', reports };
  expect(() => fromWireReports(request)).toThrow('what');
});
