/** Serves the leader's services and the node's reader over gRPC. Every node does: reads are answered by all, and a
 * node that does not lead refuses the rest with the leader's address. */
import type { UntypedServiceImplementation, handleUnaryCall } from '@grpc/grpc-js';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { uuidv7 } from 'uuidv7';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, LeaderAddress, TaskId, Trace } from '../../../scheduler/core/index.ts';
import { type ByteBudget, requestBytes, systemClock } from '../../../kit/index.ts';
import { fromWireNewJob, fromWireSignal, toWireJobReply } from '../codec/change.ts';
import { readSubmission, writeSubmitted } from '../codec/submission.ts';
import { fromWireNodeFilter, toWireNode, toWireSchedule } from '../codec/cluster.ts';
import { fromWireJobsQuery, toWireJob, toWireSummary } from '../codec/jobs.ts';
import { toWireAsOf, toWireLeader } from '../codec/leader.ts';
import { fromWireUnneeded } from '../codec/outputs.ts';
import { fromWireLogs, fromWireLogsQuery, toWireLogPage } from '../codec/task-logs.ts';
import { fromWireRegister, fromWireSession, toWireRegistered } from '../codec/session.ts';
import { jsonBytes, refuse, requiredText, soughtText } from '../codec/values.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type { ControlPlaneServer } from '../gen/millrace/v1/control_plane.ts';
import type { NewJob as WireNewJob } from '../gen/millrace/v1/job.ts';
import { millraceVersion, nodesThat } from '../../../scheduler/contract/index.ts';
import type {
  JobReply,
  JobService,
  NewJob,
  QueryService,
  Reader,
  ResultRegistry,
} from '../../../scheduler/contract/index.ts';
import { STALLED_READER_MS } from '../limits.ts';
import { asMillraceError } from '../status.ts';
import { traceOf } from './access.ts';
import { type RpcService, type StreamOptions, streaming, unary } from './handlers.ts';
import { queryHandlers } from './query-handlers.ts';
import { boundSession } from './session-binding.ts';
import { unknownJob, unknownTask, watchEvents, watchJob } from './watching.ts';
import { workDefinition, workHandler } from './work-stream.ts';
import { type WorkerCallsOptions, unaryCaller, workerCalls } from './worker-calls.ts';

export interface ControlPlaneOptions extends WorkerCallsOptions {
  /** Throws `not_leader` on other nodes. */
  readonly jobs: () => JobService;
  readonly reader: Reader;
  /** Absent where queries are not served. */
  readonly queries?: QueryService;
  readonly registry?: ResultRegistry;
  readonly whoLeads: () => LeaderAddress | null | Promise<LeaderAddress | null>;
  /** What submissions may take in memory together, here and at other listeners of the process. */
  readonly intake?: ByteBudget;
  readonly stalledReaderMs?: number;
}

/** A call with more jobs would be too large anyway. */
const JOBS_PER_CALL_MAX = 10_000;

type Outcome = JobReply | MillraceError;

const submitDefinition = {
  ...ControlPlaneService.submitJob,
  requestDeserialize: readSubmission,
  responseSerialize: writeSubmitted,
};

export function controlPlaneService(options: ControlPlaneOptions): RpcService {
  return {
    definition: { ...ControlPlaneService, work: workDefinition, submitJob: submitDefinition },
    handlers: (life): UntypedServiceImplementation => ({
      ...workerHandlers(options, life),
      ...jobHandlers(options, life),
      ...clusterHandlers(options, life),
      ...queryHandlers(options, streamOptions(options, life)),
    }),
  };
}

function workerHandlers(
  options: ControlPlaneOptions,
  life: AbortSignal,
): Pick<
  ControlPlaneServer,
  | 'registerWorker'
  | 'getTask'
  | 'reportTaskStatus'
  | 'findUnneededOutputs'
  | 'writeTaskLogs'
  | 'deregisterWorker'
> & { readonly work: ReturnType<typeof workHandler> } {
  const { workers, whoLeads } = options;
  const calls = workerCalls(options, life);
  return {
    work: workHandler(calls, life),
    registerWorker: unary(life, async (request, call) => {
      const { offer, handshake, operators, flows } = fromWireRegister(request);
      const bound = boundSession(offer, call);
      const registered = await workers().register(bound, handshake, operators, flows);
      return toWireRegistered(registered, millraceVersion(), await whoLeads());
    }),
    getTask: unary(life, (request, call) => calls.getTask(request, unaryCaller(call))),
    reportTaskStatus: unary(life, (request, call) =>
      calls.reportTaskStatus(request, unaryCaller(call)),
    ),
    findUnneededOutputs: unary(life, async (request, call) => {
      const { session, queries, kind } = fromWireUnneeded(request);
      const bound = boundSession(session, call);
      return { queryIds: [...(await workers().unneeded(bound, queries, kind))] };
    }),
    writeTaskLogs: unary(life, async (request, call) => {
      const { session, lines } = fromWireLogs(request);
      await workers().writeLogs(boundSession(session, call), lines);
      return {};
    }),
    deregisterWorker: unary(life, async (request, call) => {
      await workers().leave(boundSession(fromWireSession(request), call));
      return {};
    }),
  };
}

function jobHandlers(
  options: ControlPlaneOptions,
  life: AbortSignal,
): Pick<
  ControlPlaneServer,
  | 'getJob'
  | 'getJobTask'
  | 'readTaskLogs'
  | 'listJobs'
  | 'watchJob'
  | 'cancelJob'
  | 'rerunJob'
  | 'signalJob'
> & { readonly submitJob: handleUnaryCall<readonly WireNewJob[], readonly Outcome[]> } {
  const { jobs, reader } = options;
  return {
    submitJob: unary(life, (all, { metadata }) =>
      admitted(options, all, () => submitAll(jobs(), all, traceOf(metadata))),
    ),
    getJob: unary(life, async (request) => {
      const id: JobId = soughtText(request.jobId, 'job_id');
      const { value, asOf } = await reader.job(id);
      if (value === null) throw unknownJob(id);
      return { job: toWireJob(value), asOf: toWireAsOf(asOf) };
    }),
    getJobTask: unary(life, async (request) => {
      const id: JobId = soughtText(request.jobId, 'job_id');
      const task: TaskId = soughtText(request.taskId, 'task_id');
      const { value, asOf } = await reader.task(id, task);
      if (value === null) throw unknownTask(id, task);
      return { taskJson: jsonBytes(JSON.stringify(value)), asOf: toWireAsOf(asOf) };
    }),
    readTaskLogs: unary(life, async (request) => {
      const query = fromWireLogsQuery(request);
      const page = await reader.logs(query);
      if (page === null) throw unknownJob(query.job);
      return toWireLogPage(page);
    }),
    listJobs: unary(life, async (request) => {
      const { value, asOf } = await reader.jobs(fromWireJobsQuery(request));
      return {
        jobs: value.items.map(toWireSummary),
        cursor: value.cursor ?? '',
        asOf: toWireAsOf(asOf),
      };
    }),
    watchJob: streaming(streamOptions(options, life), (request, signal) =>
      watchJob(reader, request, signal),
    ),
    cancelJob: unary(life, async ({ jobId, reason }) => {
      const reply = await jobs().cancel(requiredText(jobId, 'job_id'), reason);
      return { job: toWireJobReply(reply) };
    }),
    rerunJob: unary(life, async ({ jobId, expectedRun }) => {
      const expected = expectedRun === 0 ? undefined : expectedRun;
      const reply = await jobs().rerun(requiredText(jobId, 'job_id'), expected);
      return { job: toWireJobReply(reply) };
    }),
    signalJob: unary(life, async (request) => {
      const { jobId, name, body, signalId } = fromWireSignal(request, uuidv7);
      return { job: toWireJobReply(await jobs().signal(jobId, name, body, signalId)) };
    }),
  };
}

function clusterHandlers(
  options: ControlPlaneOptions,
  life: AbortSignal,
): Pick<ControlPlaneServer, 'getLeader' | 'listNodes' | 'listSchedules' | 'watchEvents'> {
  const { reader, whoLeads } = options;
  return {
    getLeader: unary(life, async () => ({ leader: toWireLeader(await whoLeads()) })),
    listNodes: unary(life, async (request) => {
      const { value, asOf } = await reader.nodes();
      return {
        nodes: nodesThat(value, fromWireNodeFilter(request)).map(toWireNode),
        asOf: toWireAsOf(asOf),
      };
    }),
    listSchedules: unary(life, async () => {
      const { value, asOf } = await reader.schedules();
      return { schedules: value.map(toWireSchedule), asOf: toWireAsOf(asOf) };
    }),
    watchEvents: streaming(streamOptions(options, life), (request, signal) =>
      watchEvents(reader, request, signal),
    ),
  };
}

function streamOptions(options: ControlPlaneOptions, life: AbortSignal): StreamOptions {
  const { clock = systemClock, stalledReaderMs = STALLED_READER_MS } = options;
  return { life, clock, stalledMs: stalledReaderMs };
}

/** From the message to the answer. */
async function admitted<T>(
  { intake }: ControlPlaneOptions,
  jobs: readonly WireNewJob[],
  submit: () => Promise<T>,
): Promise<T> {
  const share = intake?.share();
  const textBytes = jobs.reduce((total, { documentJson }) => total + documentJson.length, 0);
  if (share?.hold(requestBytes(textBytes, jobs.length)) === false) {
    throw new MillraceError({
      code: 'overloaded',
      what: 'The node has reached its memory limit for pending submissions.',
      todo: 'Send them again shortly, fewer at a time.',
    });
  }
  try {
    return await submit();
  } finally {
    share?.release();
  }
}

/** A document that is not JSON is refused by itself, like any other bad one. */
async function submitAll(
  service: JobService,
  jobs: readonly WireNewJob[],
  trace: Trace | null,
): Promise<readonly Outcome[]> {
  if (jobs.length > JOBS_PER_CALL_MAX)
    refuse('jobs', `${jobs.length} jobs exceed the limit of a request.`);
  const read = jobs.map((job) => readJob(job, trace));
  const good = read.filter((job): job is NewJob => !(job instanceof MillraceError));
  const replies = good.length === 0 ? [] : await service.submitAll(good);
  // The same commit may have given it to a worker, which gets its answer first. A list has more to come.
  if (jobs.length === 1) await nextTurn();
  let next = 0;
  return read.map((job): Outcome => {
    if (job instanceof MillraceError) return job;
    const reply = replies[next];
    next += 1;
    return reply ?? new MillraceError({ code: 'invariant', what: 'A job has no answer.' });
  });
}

function readJob(job: WireNewJob, trace: Trace | null): NewJob | MillraceError {
  try {
    return fromWireNewJob(job, () => uuidv7() as JobId, trace);
  } catch (thrown) {
    return asMillraceError(thrown);
  }
}
