import { expect, test, vi } from 'vitest';
import { channelTo, wireNode } from '../../../../test/rig/wire-node.ts';
import { instant, jobNo, MillraceError, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName, NodeId, SessionId, TaskId } from '../../../scheduler/core/index.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type { JobService, JobReply } from '../../../scheduler/contract/job-service.ts';
import type { Reader } from '../../../scheduler/contract/reader-port.ts';
import { JsonText } from '../../../scheduler/contract/index.ts';
import type { ReadJob } from '../../../scheduler/contract/index.ts';
import type {
  Handshake,
  WorkerService,
  PollReply,
  ReadyAssignment,
  WorkerReport,
} from '../../../scheduler/contract/worker-service.ts';
import { grpcJobs } from '../../../../test/rig/grpc-jobs.ts';
import { remoteReader } from './remote-reader.ts';
import { workerChannel } from './worker-channel.ts';

const BIG = Number.MAX_SAFE_INTEGER;
const session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const lease = {
  jobId: 'j1' as JobId,
  jobNo: jobNo(BIG),
  taskNo: taskNo(3),
  fence: BIG - 1,
  term: 'term' as LeaseName['term'],
};
const orders = { abort: [lease], drain: true, slowDownMs: 7 };
const assignment: ReadyAssignment = {
  lease,
  jobId: 'j1' as JobId,
  taskId: 't1' as TaskId,
  executor: 'echo',
  run: 2,
  attempt: 3,
  runMs: BIG,
  resumed: true,
  input: '{"a":"é"}',
  idempotencyKey: null,
  steps: [{ name: 's', body: '1' }],
  assignedAt: instant(BIG),
  scheduledAt: instant(BIG),
  trace: { parent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`, state: 'vendor=1' },
  hasChildren: true,
  children: [
    { id: 'c1' as TaskId, state: 'succeeded', result: '{"é":2}', error: null },
    { id: 'c2' as TaskId, state: 'failed', result: null, error: { code: 'boom', message: 'é' } },
  ],
};
const items: WorkerReport[] = [
  { kind: 'started', lease },
  { kind: 'completed', lease, result: '{"é":1}' },
  {
    kind: 'suspended',
    lease,
    until: {
      type: 'wait',
      sleeps: [{ step: '$sleep/a', forMs: BIG }],
      signals: [{ step: '$signal/é', name: 'é' }],
      jobs: [{ step: '$job/c', jobId: 'j1.c' as JobId, document: { tasks: ['é'] } }],
    },
  },
  {
    kind: 'inputLost',
    lease,
    lost: [{ taskId: 'é' as TaskId, fence: BIG }],
    error: { code: 'gone', message: 'é' },
  },
  { kind: 'suspended', lease, until: { type: 'children', tasks: [{ id: 'é' }, 1, null] } },
];
const noSignal = new AbortController().signal;

test('a worker gets the same answers over the network as from the service', async () => {
  const service = {
    register: vi.fn<WorkerService['register']>(),
    heartbeat: vi.fn<WorkerService['heartbeat']>(),
    poll: vi.fn<WorkerService['poll']>(),
    report: vi.fn<WorkerService['report']>(),
    unneeded: vi.fn<WorkerService['unneeded']>(),
    writeLogs: vi.fn<WorkerService['writeLogs']>(),
    leave: vi.fn<WorkerService['leave']>(),
  };
  const { address } = await wireNode({ workers: service });
  const leader = workerChannel({ channel: channelTo(address) });

  const offer = {
    id: session.nodeId,
    sessionId: session.sessionId,
    slots: 8,
    prefetch: 500,
    executors: ['echo'],
    capabilities: { gpu: true, tags: ['a', 1] },
    address: '127.0.0.1:1',
    version: '1.2.3',
  };
  const handshake: Handshake = { protocol: 7, millrace: '1.2.3', duckdb: null };
  service.register.mockResolvedValue({ sessionTtlMs: 20_000, heartbeatMs: 3_000 });
  const registered = await leader.register(offer, handshake);
  expect(registered).toEqual({ sessionTtlMs: 20_000, heartbeatMs: 3_000 });
  expect(service.register).toHaveBeenCalledWith(offer, handshake, [], []);

  const beat = { ...session, held: [lease], seenPoll: BIG, executors: ['echo'] };
  service.heartbeat.mockResolvedValue(orders);
  expect(await leader.heartbeat(beat)).toEqual(orders);
  expect(service.heartbeat).toHaveBeenCalledWith(beat);

  const request = { ...session, pollNo: BIG, capacity: 5, held: [lease], refills: true };
  service.poll.mockResolvedValue({ assignments: [assignment], orders });
  expect(await leader.poll(request, noSignal)).toEqual({ assignments: [assignment], orders });
  expect(service.poll).toHaveBeenCalledWith(request, expect.any(AbortSignal));

  const verdicts: ('ok' | 'lost')[] = ['ok', 'lost', 'ok', 'lost', 'ok'];
  service.report.mockResolvedValue({ verdicts, orders });
  expect(await leader.report(session, items)).toEqual({ verdicts, orders });
  expect(service.report).toHaveBeenCalledWith(session, items);

  const queries = ['q1', 'q2'] as JobId[];
  service.unneeded.mockResolvedValue(['q2' as JobId, 'somebody-else' as JobId]);
  // Only of those that it asked about.
  expect(await leader.unneeded(session, queries)).toEqual(['q2']);
  expect(service.unneeded).toHaveBeenCalledWith(session, queries, undefined);
  await leader.unneeded(session, queries, 'inner');
  expect(service.unneeded).toHaveBeenLastCalledWith(session, queries, 'inner');

  service.leave.mockResolvedValue();
  await leader.leave(session);
  expect(service.leave).toHaveBeenCalledWith(session);
});

test('a worker gets the error that the service throws', async () => {
  const error = new MillraceError({
    code: 'unknown_session',
    what: 'There is no session s1.',
    why: 'It ended.',
    todo: 'Register anew.',
  });
  const { address } = await wireNode({ workers: { heartbeat: () => Promise.reject(error) } });
  const leader = workerChannel({ channel: channelTo(address) });
  const beat = leader.heartbeat({ ...session, held: [], seenPoll: 0, executors: [] });
  await expect(beat).rejects.toMatchObject({
    code: 'unknown_session',
    what: error.what,
    why: error.why,
    todo: error.todo,
  });
});

test('results that are too large for one message are sent in several, and verdicts keep their order', async () => {
  const sizes: number[] = [];
  const report: WorkerService['report'] = (_session, items) => {
    sizes.push(items.length);
    const verdicts = items.map(({ lease: { fence } }) => (fence % 2 === 0 ? 'ok' : 'lost'));
    return Promise.resolve({ verdicts, orders });
  };
  const { address } = await wireNode({ workers: { report } });
  const leader = workerChannel({ channel: channelTo(address) });
  const result = JSON.stringify('x'.repeat(4 * 1024 * 1024 - 2));
  const items = Array.from({ length: 10 }, (_, fence): WorkerReport => {
    return { kind: 'completed', lease: { ...lease, fence }, result };
  });
  const { verdicts } = await leader.report(session, items);
  expect(sizes).toEqual([3, 3, 3, 1]);
  expect(verdicts).toEqual(items.map((_, fence) => (fence % 2 === 0 ? 'ok' : 'lost')));
});

test('an item that no message can carry fails its task, and the others arrive', async () => {
  const seen: WorkerReport[] = [];
  const report: WorkerService['report'] = (_session, items) => {
    seen.push(...items);
    return Promise.resolve({ verdicts: items.map(() => 'ok' as const), orders });
  };
  const { address } = await wireNode({ workers: { report } });
  const leader = workerChannel({ channel: channelTo(address) });
  const huge = JSON.stringify('x'.repeat(50_000_000));
  const tasks = Array.from({ length: 17 }, () => 'x'.repeat(1024 * 1024));
  const call = { step: '$job/c', jobId: 'j.c' as JobId, document: tasks };
  const items: WorkerReport[] = [
    { kind: 'completed', lease, result: huge },
    { kind: 'completed', lease, result: '1' },
    { kind: 'step', lease, name: 's', body: huge },
    { kind: 'suspended', lease, until: { type: 'children', tasks } },
    { kind: 'suspended', lease, until: { type: 'wait', sleeps: [], signals: [], jobs: [call] } },
    { kind: 'failed', lease, error: { code: 'boom', message: huge }, failure: 'retryable' },
    { kind: 'progress', lease, fraction: 0.5, note: huge },
  ];
  const { verdicts } = await leader.report(session, items);
  expect(verdicts).toHaveLength(items.length);
  const codes = seen.map((item) => (item.kind === 'failed' ? item.error.code : item.kind));
  const tooLarge = 'too_large';
  expect(codes).toEqual([tooLarge, 'completed', tooLarge, tooLarge, tooLarge, 'boom', 'progress']);
  expect(seen[0]).toMatchObject({ failure: 'fatal', lease });
  const message = seen[0]?.kind === 'failed' ? seen[0].error.message : '';
  expect(message).toMatch(/50000002 bytes.* 16777216 .*return its location/);
});

test('assignments that do not fit into one answer are left for the next', async () => {
  const input = JSON.stringify('x'.repeat(1024 * 1024 - 2));
  const reply: PollReply = {
    assignments: Array.from({ length: 30 }, () => ({ ...assignment, input })),
    orders,
  };
  const { address } = await wireNode({ workers: { poll: () => Promise.resolve(reply) } });
  const leader = workerChannel({ channel: channelTo(address) });
  const { assignments } = await leader.poll(
    { ...session, pollNo: 1, capacity: 30, held: [] },
    noSignal,
  );
  expect(assignments).toHaveLength(15);
});

test('a task with more steps than fit into a request is still assigned', async () => {
  const body = JSON.stringify('x'.repeat(1024 * 1024 - 2));
  const steps = Array.from({ length: 24 }, (_, at) => ({ name: `step ${at}`, body }));
  const reply: PollReply = { assignments: [{ ...assignment, steps }], orders };
  const { address } = await wireNode({ workers: { poll: () => Promise.resolve(reply) } });
  const leader = workerChannel({ channel: channelTo(address) });
  const request = { ...session, pollNo: 1, capacity: 1, held: [] };
  const { assignments } = await leader.poll(request, noSignal);
  expect(assignments[0]?.steps).toHaveLength(24);
});

test('returns a complete reply for each job', async () => {
  const answer: JobReply = { jobId: 'j1' as JobId, state: 'queued', run: 1, changed: true };
  const refusal = new MillraceError({ code: 'bad_input', what: 'No tasks.', path: '/tasks' });
  const fate = { takenBy: 't' as TaskId, awaited: ['go', 'stop'] };
  const service = {
    submitAll: vi.fn<JobService['submitAll']>().mockResolvedValue([answer, refusal]),
    cancel: vi.fn<JobService['cancel']>().mockResolvedValue({ ...answer, state: 'cancelled' }),
    rerun: vi.fn<JobService['rerun']>().mockResolvedValue({ ...answer, run: 2 }),
    signal: vi.fn<JobService['signal']>().mockResolvedValue({ ...answer, signal: fate }),
  };
  const { address } = await wireNode({ jobs: service });
  const leader = grpcJobs(channelTo(address));
  const jobs = ['j1', 'j2'].map((id) => {
    return { document: { tasks: [id] }, jobId: id as JobId };
  });
  expect(await leader.submitAll(jobs)).toEqual([answer, refusal]);
  const without = jobs.map((job) => ({ ...job, trace: null }));
  expect(service.submitAll).toHaveBeenCalledWith(without);
  expect(await leader.cancel(answer.jobId, 'why not')).toEqual({ ...answer, state: 'cancelled' });
  expect(service.cancel).toHaveBeenCalledWith('j1', 'why not');
  expect(await leader.rerun(answer.jobId)).toMatchObject({ run: 2 });
  expect(service.rerun).toHaveBeenLastCalledWith('j1', undefined);
  await leader.rerun(answer.jobId, 4);
  expect(service.rerun).toHaveBeenLastCalledWith('j1', 4);
  expect(await leader.signal(answer.jobId, 'go', '{"é":1}', 'once')).toEqual({
    ...answer,
    signal: fate,
  });
  expect(service.signal).toHaveBeenLastCalledWith('j1', 'go', '{"é":1}', 'once');
});

test('a signal without a body is null, and one without an id gets one', async () => {
  const answer: JobReply = { jobId: 'j1' as JobId, state: 'running', run: 1, changed: true };
  const signal = vi.fn<JobService['signal']>().mockResolvedValue(answer);
  const { address } = await wireNode({ jobs: { signal } });
  const request = { jobId: 'j1', name: 'go', bodyJson: Buffer.alloc(0), signalId: '' };
  const method = ControlPlaneService.signalJob;
  await channelTo(address).unary(method, request, { deadlineMs: 10_000 });
  const fresh = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;
  expect(signal).toHaveBeenCalledWith('j1', 'go', 'null', fresh);
});

test('an invalid document is refused alone, and a job without an id gets one', async () => {
  const submitted: string[] = [];
  const submitAll: JobService['submitAll'] = (jobs) => {
    submitted.push(...jobs.map(({ jobId }) => jobId));
    return Promise.resolve(
      jobs.map(({ jobId }) => ({ jobId, state: 'queued', run: 1, changed: true })),
    );
  };
  const { address } = await wireNode({ jobs: { submitAll } });
  const jobs = ['{"tasks":', '{}', '1'].map((text, at) => {
    return { documentJson: Buffer.from(text), jobId: at === 1 ? 'j1' : '' };
  });
  const call = channelTo(address).unary(
    ControlPlaneService.submitJob,
    { jobs },
    { deadlineMs: 10_000 },
  );
  const answers = (await call).jobs;
  expect(answers.map(({ id, error }) => error?.code ?? id)).toEqual(['bad_input', ...submitted]);
  expect(submitted).toEqual(['j1', expect.stringMatching(/^[0-9a-f-]{36}$/)]);
});

const asOf = { seq: BIG, at: new Date('2026-01-02T03:04:05.678Z') };
const job: ReadJob = {
  id: 'j1' as JobId,
  no: BIG,
  name: 'job',
  state: 'running',
  run: 1,
  priority: 2,
  taskCount: 0,
  idempotencyKey: null,
  labels: { team: 'billing' },
  runAt: null,
  trace: 'a1'.repeat(16),
  keep: 'all',
  startedBy: null,
  scheduleId: null,
  scheduledAt: null,
  error: null,
  createdAt: asOf.at,
  startedAt: null,
  finishedAt: null,
  result: new JsonText('{"é": [1e400]}'),
  tasks: [],
  history: [],
};

test('a remote reader returns the same data', async () => {
  const { tasks: _tasks, history: _history, result: _result, ...summary } = job;
  const reader = {
    job: vi.fn<Reader['job']>().mockResolvedValue({ value: job, asOf }),
    jobs: vi.fn<Reader['jobs']>().mockResolvedValue({
      value: { items: [summary], cursor: 'next' },
      asOf,
    }),
    nodes: vi.fn<Reader['nodes']>().mockResolvedValue({ value: [], asOf }),
    schedules: vi.fn<Reader['schedules']>().mockResolvedValue({ value: [], asOf }),
  };
  const leader = { nodeId: 'n', url: null, grpc: '127.0.0.1:1', epoch: BIG };
  const { address } = await wireNode({ reader, whoLeads: () => leader });
  const remote = remoteReader(channelTo(address));
  expect(await remote.job(job.id)).toEqual({ value: job, asOf });
  const query = { state: 'running', limit: 5, cursor: 'c' } as const;
  expect(await remote.jobs(query)).toEqual({ value: { items: [summary], cursor: 'next' }, asOf });
  expect(reader.jobs).toHaveBeenCalledWith(query);
  expect(await remote.nodes()).toEqual({ value: [], asOf });
  expect(await remote.schedules()).toEqual({ value: [], asOf });
  expect(await remote.head()).toEqual(asOf);
  expect(await remote.leader()).toEqual(leader);
});

test('times of a remote reader have the same JSON text', async () => {
  const late = { ...asOf, at: new Date(8.64e15) };
  const early = { ...job, createdAt: new Date(-1), startedAt: new Date(1), finishedAt: asOf.at };
  const reader = { job: () => Promise.resolve({ value: early, asOf: late }) };
  const { address } = await wireNode({ reader });
  const read = await remoteReader(channelTo(address)).job(job.id);
  const { createdAt, startedAt, finishedAt } = read.value ?? job;
  expect(JSON.parse(JSON.stringify([createdAt, startedAt, finishedAt, read.asOf.at]))).toEqual([
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.001Z',
    '2026-01-02T03:04:05.678Z',
    '+275760-09-13T00:00:00.000Z',
  ]);
});

test('a missing job is reported with the freshness of the answer', async () => {
  const reader = {
    job: () => Promise.resolve({ value: null, asOf }),
    nodes: () => Promise.resolve({ value: [], asOf }),
  };
  const { address } = await wireNode({ reader });
  const remote = remoteReader(channelTo(address));
  expect(await remote.job(job.id)).toEqual({ value: null, asOf });
});
