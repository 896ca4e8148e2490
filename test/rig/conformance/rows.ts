/** Rows for tests: valid as they come, changed only where a test says so. */
import {
  type EventRow,
  instant,
  type Instant,
  type JobId,
  type JobRow,
  jobNo,
  type KeyRow,
  keyScope,
  type NodeId,
  type NodeRow,
  type ScheduleId,
  type ScheduleRow,
  type SessionId,
  type SignalRow,
  type TaskId,
  taskNo,
  type TaskRow,
  type TaskSpecRow,
  type TermId,
} from '../../../src/scheduler/core/index.ts';

export const jobId = (text: string): JobId => text as JobId;
export const taskId = (text: string): TaskId => text as TaskId;
export const nodeId = (text: string): NodeId => text as NodeId;
export const sessionId = (text: string): SessionId => text as SessionId;
export const scheduleId = (text: string): ScheduleId => text as ScheduleId;
export const termId = (text: string): TermId => text as TermId;

export const AT: Instant = instant(1_763_000_000_000);

export function aJob(no: number, parts: Partial<JobRow> = {}): JobRow {
  return {
    no: jobNo(no),
    id: jobId(`job-${no}`),
    name: 'nightly',
    priority: 2,
    idempotencyKey: null,
    maxParallel: null,
    onFailure: 'finish',
    totalMs: null,
    scheduleId: null,
    output: null,
    labels: [],
    runAt: null,
    options: null,
    createdAt: AT,
    state: 'running',
    run: 1,
    taskCount: 1,
    stopping: null,
    error: null,
    startedAt: null,
    finishedAt: null,
    ...parts,
  };
}

export function aSpec(job: number, no: number, parts: Partial<TaskSpecRow> = {}): TaskSpecRow {
  return {
    jobNo: jobNo(job),
    taskNo: taskNo(no),
    id: taskId(`task-${no}`),
    executor: 'echo',
    priority: 2,
    parentNo: null,
    dependsOn: [],
    idempotencyKey: null,
    options: null,
    input: null,
    ...parts,
  };
}

export function aTask(job: number, no: number, parts: Partial<TaskRow> = {}): TaskRow {
  return {
    jobNo: jobNo(job),
    taskNo: taskNo(no),
    state: 'ready',
    run: 1,
    attempt: 0,
    failures: 0,
    losses: 0,
    fence: 0,
    term: null,
    nodeId: null,
    sessionId: null,
    stopping: null,
    suspended: null,
    waits: null,
    notBefore: null,
    progress: 0,
    error: null,
    queuedAt: AT,
    startedAt: null,
    finishedAt: null,
    ...parts,
  };
}

export const running = (job: number, no: number, parts: Partial<TaskRow> = {}): TaskRow =>
  aTask(job, no, {
    state: 'running',
    attempt: 1,
    fence: 1,
    term: termId('term'),
    nodeId: nodeId('w-1'),
    sessionId: sessionId('s-1'),
    startedAt: AT,
    ...parts,
  });

export const succeeded = (job: number, no: number, parts: Partial<TaskRow> = {}): TaskRow =>
  running(job, no, {
    state: 'succeeded',
    sessionId: null,
    progress: 1,
    finishedAt: instant(AT + 1),
    ...parts,
  });

export function aSignal(job: number, no: number, parts: Partial<SignalRow> = {}): SignalRow {
  return {
    jobNo: jobNo(job),
    no,
    id: `signal-${no}`,
    name: 'approved',
    body: `{"value":${no}}`,
    sentAt: AT,
    taken: false,
    ...parts,
  };
}

export function aKey(key: string, parts: Partial<KeyRow> = {}): KeyRow {
  return {
    scope: keyScope('echo', key),
    state: 'pending',
    jobNo: jobNo(1),
    taskNo: taskNo(0),
    result: null,
    updatedAt: AT,
    ...parts,
  };
}

export function aNode(id: string, parts: Partial<NodeRow> = {}): NodeRow {
  return {
    id: nodeId(id),
    sessionId: sessionId(`session-of-${id}`),
    status: 'healthy',
    draining: false,
    slots: 8,
    prefetch: 500,
    executors: ['echo', 'http'],
    capabilities: '{"gpu":"none"}',
    address: '127.0.0.1:7071',
    version: '0.1.0',
    quarantinedUntil: null,
    registeredAt: AT,
    seenAt: AT,
    ...parts,
  };
}

export function aSchedule(id: string, parts: Partial<ScheduleRow> = {}): ScheduleRow {
  return {
    id: scheduleId(id),
    spec: '{"cron":"0 3 * * *"}',
    paused: false,
    nextAt: AT,
    lastAt: null,
    lastJobId: null,
    ...parts,
  };
}

export function anEvent(seq: number, parts: Partial<EventRow> = {}): EventRow {
  return {
    seq,
    at: AT,
    kind: 'created',
    jobNo: null,
    taskNo: null,
    nodeId: null,
    run: null,
    attempt: null,
    fence: null,
    detail: null,
    ...parts,
  };
}
