import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  JOB_STATES,
  LOG_KINDS,
  MillraceError,
  PRIORITIES,
  TASK_STATES,
  TASKS_PER_JOB_LIMIT,
} from '../../../scheduler/core/index.ts';
import type { JobId, Json, LeaseName, NodeOffer, TaskId } from '../../../scheduler/core/index.ts';
import { HeartbeatRequest, HeartbeatResponse } from '../gen/millrace/v1/heartbeat.ts';
import * as job from '../gen/millrace/v1/job.ts';
import * as task from '../gen/millrace/v1/task.ts';
import { AsOf, LeaderInfo } from '../gen/millrace/v1/types.ts';
import type { JobReply, NewJob } from '../../../scheduler/contract/job-service.ts';
import { JsonText, type ReadJob, type ReadResult } from '../../../scheduler/contract/json-text.ts';
import type { EventPage, JobsQuery } from '../../../scheduler/contract/reader-port.ts';
import type {
  JobShape,
  JobSummary,
  NodeShape,
  ScheduleShape,
} from '../../../scheduler/contract/shapes.ts';
import type {
  Beat,
  ChildOutcome,
  PollReply,
  PollRequest,
  ReportReply,
  WorkerOrders,
  WorkerReport,
  WorkerSuspension,
} from '../../../scheduler/contract/worker-service.ts';
import * as change from './change.ts';
import * as cluster from './cluster.ts';
import * as jobs from './jobs.ts';
import { fromWireAsOf, fromWireLeader, toWireAsOf, toWireLeader } from './leader.ts';
import { fromWirePoll, fromWirePollReply, toWirePoll, toWirePollReply } from './poll.ts';
import { fromWireReportReply, fromWireReports, reportParts, toWireReportReply } from './report.ts';
import * as session from './session.ts';

interface Message<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** As it arrives at the other end. */
function sent<T>(message: Message<T>, value: T): T {
  return message.decode(Buffer.from(message.encode(value).finish()));
}

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 20 });
const id = <T extends string>(): fc.Arbitrary<T> => name as unknown as fc.Arbitrary<T>;
const orNull = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(each);
const whole = fc.oneof(fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const count = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);
const jsonText = json.map((value) => JSON.stringify(value));
const time = fc.integer({ min: 1, max: 8.64e15 }).map((ms) => new Date(ms));
const number = <T extends number>(max: number): fc.Arbitrary<T> =>
  fc.integer({ min: 0, max }) as unknown as fc.Arbitrary<T>;

const lease: fc.Arbitrary<LeaseName> = fc.record({
  jobId: id<LeaseName['jobId']>(),
  jobNo: whole as fc.Arbitrary<LeaseName['jobNo']>,
  taskNo: number<LeaseName['taskNo']>(TASKS_PER_JOB_LIMIT - 1),
  fence: whole,
  term: id<LeaseName['term']>(),
});
const leases = fc.array(lease, { maxLength: 4 });
const orders: fc.Arbitrary<WorkerOrders> = fc.record({
  abort: leases,
  drain: fc.boolean(),
  slowDownMs: count,
});
const asOf = fc.record({ seq: whole, at: time });
const error = fc.record({ code: name, message: text });

function expectSame<T>(values: fc.Arbitrary<T>, trip: (value: T) => unknown): void {
  const property = fc.property(values, (value) => {
    expect(trip(value)).toEqual(value);
  });
  fc.assert(property);
}

describe('messages between workers and the leader survive a round trip', () => {
  test('a registration', () => {
    const capability = fc.oneof(fc.boolean(), fc.integer(), name, fc.array(name, { maxLength: 3 }));
    const offer: fc.Arbitrary<NodeOffer> = fc.record({
      id: id<NodeOffer['id']>(),
      sessionId: id<NodeOffer['sessionId']>(),
      slots: count,
      prefetch: count,
      executors: fc.array(name),
      capabilities: fc.dictionary(name, capability, { noNullPrototype: true, maxKeys: 4 }),
      address: orNull(name),
      version: name,
    });
    const versions = fc.record({ protocol: count, duckdb: orNull(name) });
    expectSame(fc.tuple(offer, versions), ([given, { protocol, duckdb }]) => {
      const handshake = { protocol, millrace: given.version, duckdb };
      const wire = session.toWireRegister(given, handshake);
      const back = session.fromWireRegister(sent(task.RegisterWorkerRequest, wire));
      expect(back.handshake.millrace).toBe(given.version);
      return [back.offer, { protocol: back.handshake.protocol, duckdb: back.handshake.duckdb }];
    });
  });

  test('the answer to a registration', () => {
    const one = fc.integer({ min: 1, max: 2 ** 32 - 1 });
    expectSame(fc.record({ sessionTtlMs: one, heartbeatMs: one }), (registered) =>
      session.fromWireRegistered(
        sent(task.RegisterWorkerResponse, session.toWireRegistered(registered, '1', null)),
      ),
    );
  });

  test('a heartbeat, its answer, and a goodbye', () => {
    const who = { nodeId: id<Beat['nodeId']>(), sessionId: id<Beat['sessionId']>() };
    expectSame(
      fc.record<Beat>({ ...who, held: leases, seenPoll: whole, executors: fc.array(name) }),
      (beat) => session.fromWireBeat(sent(HeartbeatRequest, session.toWireBeat(beat, 1))),
    );
    expectSame(orders, (given) =>
      session.fromWireBeatAnswer(sent(HeartbeatResponse, session.toWireBeatAnswer(given))),
    );
    expectSame(fc.record(who), (given) =>
      session.fromWireSession(sent(task.DeregisterWorkerRequest, session.toWireSession(given))),
    );
  });

  test('a poll and the work it brings', () => {
    const request: fc.Arbitrary<PollRequest> = fc.record({
      nodeId: id<PollRequest['nodeId']>(),
      sessionId: id<PollRequest['sessionId']>(),
      pollNo: whole,
      capacity: count,
      refills: fc.boolean(),
      held: leases,
    });
    expectSame(request, (given) => fromWirePoll(sent(task.GetTaskRequest, toWirePoll(given, 5))));
    const child: fc.Arbitrary<ChildOutcome> = fc.record({
      id: id<ChildOutcome['id']>(),
      state: fc.constantFrom(...TASK_STATES),
      result: orNull(jsonText),
      error: orNull(error),
    });
    const assignment: fc.Arbitrary<PollReply['assignments'][number]> = fc.record({
      lease,
      jobId: id<JobId>(),
      taskId: id<PollReply['assignments'][number]['taskId']>(),
      executor: name,
      run: count,
      attempt: count,
      runMs: orNull(fc.integer({ min: 1 })),
      resumed: fc.boolean(),
      input: jsonText,
      idempotencyKey: orNull(name),
      steps: fc.array(fc.record({ name, body: jsonText }), { maxLength: 3 }),
      assignedAt: whole as unknown as fc.Arbitrary<PollReply['assignments'][number]['assignedAt']>,
      scheduledAt: orNull(
        whole as unknown as fc.Arbitrary<PollReply['assignments'][number]['assignedAt']>,
      ),
      hasChildren: fc.boolean(),
      trace: fc.constant(null),
      children: fc.array(child, { maxLength: 3 }),
    });
    const reply = fc.record({ assignments: fc.array(assignment, { maxLength: 4 }), orders });
    expectSame(reply, (given) =>
      fromWirePollReply(sent(task.GetTaskResponse, toWirePollReply(given))),
    );
  });

  test('reports and verdicts', () => {
    const kind = <K extends string>(value: K): fc.Arbitrary<K> => fc.constant(value);
    const suspension: fc.Arbitrary<WorkerSuspension> = fc.oneof(
      fc.record({ type: kind('children'), tasks: fc.array(json, { maxLength: 3 }) }),
      fc.record({
        type: kind('wait'),
        sleeps: fc.array(fc.record({ step: name, forMs: whole }), { maxLength: 3 }),
        signals: fc.array(fc.record({ step: name, name }), { maxLength: 3 }),
        jobs: fc.array(fc.record({ step: name, jobId: id<JobId>(), document: json }), {
          maxLength: 3,
        }),
      }),
    );
    const item: fc.Arbitrary<WorkerReport> = fc.oneof(
      fc.record({ kind: fc.constantFrom('started', 'aborted', 'released'), lease }),
      fc.record({
        kind: kind('progress'),
        lease,
        fraction: fc.double({ min: 0 }),
        note: orNull(text),
      }),
      fc.record({ kind: kind('step'), lease, name, body: jsonText }),
      fc.record({ kind: kind('completed'), lease, result: orNull(jsonText) }),
      fc.record(
        {
          kind: kind('failed'),
          lease,
          error,
          failure: fc.constantFrom('retryable', 'fatal', 'missing'),
          missing: name,
          retryAfterMs: fc.nat(),
        },
        { requiredKeys: ['kind', 'lease', 'error', 'failure'] },
      ),
      fc.record({
        kind: kind('inputLost'),
        lease,
        lost: fc.array(fc.record({ taskId: id<TaskId>(), fence: whole }), { maxLength: 3 }),
        error,
      }),
      fc.record({ kind: kind('suspended'), lease, until: suspension }),
      fc.record({ kind: kind('submitted'), lease, run: count, name, document: json }),
    );
    const who = { nodeId: 'n' as Beat['nodeId'], sessionId: 's' as Beat['sessionId'] };
    expectSame(fc.array(item, { minLength: 1, maxLength: 5 }), (items) => {
      const [wire, ...more] = [...reportParts(who, items)];
      expect(more).toEqual([]);
      return fromWireReports(sent(task.ReportTaskStatusRequest, wire!.request)).items;
    });
    const verdicts = fc.array(fc.constantFrom<ReportReply['verdicts'][number]>('ok', 'lost'));
    expectSame(fc.record({ verdicts, orders }), (reply) =>
      fromWireReportReply(
        sent(task.ReportTaskStatusResponse, toWireReportReply(reply)),
        reply.verdicts.length,
      ),
    );
  });
});

const sentEvent = fc.record({ event: name, id: name });

describe('public shapes survive a round trip', () => {
  const summary = {
    id: id<JobId>(),
    no: whole,
    name: text,
    state: fc.constantFrom(...JOB_STATES),
    priority: fc.constantFrom(...PRIORITIES),
    ...{ run: count, taskCount: count, idempotencyKey: orNull(name) },
    labels: fc.dictionary(fc.string({ minLength: 1 }), name, { maxKeys: 3 }),
    ...{ runAt: orNull(time), trace: orNull(name), scheduledAt: orNull(time) },
    keep: fc.constantFrom('all' as const, 'failed' as const, 'none' as const),
    startedBy: orNull(fc.oneof(fc.record({ job: id<JobId>(), task: id<TaskId>() }), sentEvent)),
    scheduleId: orNull(id<NonNullable<JobSummary['scheduleId']>>()),
    error: orNull(error),
    ...{ createdAt: time, startedAt: orNull(time), finishedAt: orNull(time) },
  };
  const pastRun = {
    id: id<JobShape['tasks'][number]['id']>(),
    run: count,
    state: fc.constantFrom(...TASK_STATES),
    attempt: count,
    node: orNull(id<NodeShape['id']>()),
    error: orNull(error),
    startedAt: orNull(time),
    finishedAt: orNull(time),
  };

  test('a job, alone and with its tasks', () => {
    const waiting = { ...summary, waitsFor: fc.array(name, { minLength: 1 }) };
    expectSame(fc.oneof(fc.record<JobSummary<Date>>(summary), fc.record(waiting)), (given) =>
      jobs.fromWireSummary(sent(job.Job, jobs.toWireSummary(given))),
    );
    const result: fc.Arbitrary<ReadResult> = orNull(jsonText.map((text) => new JsonText(text)));
    const shape: fc.Arbitrary<ReadJob> = fc.record({
      ...summary,
      result,
      history: fc.array(fc.record(pastRun), { maxLength: 3 }),
      tasks: fc.array(
        fc.record({
          ...pastRun,
          executor: name,
          dependsOn: fc.array(pastRun.id),
          parent: orNull(pastRun.id),
          progress: fc.double({ min: 0, noNaN: true }),
          result,
          waiting: orNull(name),
          queuedAt: orNull(time),
        }),
        { maxLength: 3 },
      ),
    });
    expectSame(shape, (given) => jobs.fromWireJob(sent(job.Job, jobs.toWireJob(given))));
    const omitted = shape.map((given): ReadJob => ({ ...given, isResultOmitted: true }));
    expectSame(omitted, (given) => jobs.fromWireJob(sent(job.Job, jobs.toWireJob(given))));
  });

  test('requests about jobs', () => {
    const moment = time.map((at) => at.getTime() as NonNullable<JobsQuery['since']>);
    const query: fc.Arbitrary<JobsQuery> = fc.record(
      {
        ...{ state: fc.constantFrom(...JOB_STATES), name, cursor: name, schedule: id<string>() },
        ...{ limit: fc.integer({ min: 1, max: 1_000 }), since: moment, until: moment },
        ...{ waitingFor: fc.constant('*'), startedBy: fc.constant('event/a/b c') },
      },
      { requiredKeys: ['limit'] },
    );
    expectSame(query, (given) =>
      jobs.fromWireJobsQuery(sent(job.ListJobsRequest, jobs.toWireJobsQuery(given))),
    );
  });

  test('a new job and its answer, refused or not', () => {
    const fresh = (): never => expect.fail('the id was given');
    const trace = fc.constant(null);
    const given: fc.Arbitrary<NewJob> = fc.record({ document: json, jobId: id<JobId>(), trace });
    expectSame(given, (each) =>
      change.fromWireNewJob(sent(job.NewJob, change.toWireNewJob(each)), fresh, null),
    );
    const answer: fc.Arbitrary<JobReply> = fc.record(
      {
        jobId: id<JobId>(),
        state: fc.constantFrom(...JOB_STATES),
        run: count,
        changed: fc.boolean(),
        signal: fc.record({ takenBy: fc.option(id<TaskId>()), awaited: fc.array(name) }),
      },
      { requiredKeys: ['jobId', 'state', 'run', 'changed'] },
    );
    expectSame(answer, (each) =>
      change.fromWireJobReply(sent(job.JobReply, change.toWireJobReply(each))),
    );
    const refused = new MillraceError({ code: 'bad_input', what: 'No.', path: '/tasks/0' });
    const heard = change.fromWireJobReply(sent(job.JobReply, change.toWireJobReply(refused)));
    expect(heard).toEqual(refused);
  });

  test('a signal', () => {
    const fresh = (): never => expect.fail('the id was given');
    const given: fc.Arbitrary<change.SignalCall> = fc.record({
      jobId: id<JobId>(),
      name,
      body: jsonText,
      signalId: name,
    });
    expectSame(given, (each) =>
      change.fromWireSignal(sent(job.SignalJobRequest, change.toWireSignal(each)), fresh),
    );
  });

  test('nodes, schedules, events, leaders', () => {
    const node: fc.Arbitrary<NodeShape<Date>> = fc.record({
      id: id<NodeShape['id']>(),
      status: fc.constantFrom('healthy', 'stale', 'dead'),
      draining: fc.boolean(),
      slots: count,
      running: count,
      executors: fc.array(name),
      capabilities: fc.dictionary(name, json, { noNullPrototype: true, maxKeys: 4 }),
      address: orNull(name),
      version: text,
      quarantinedUntil: orNull(time),
      registeredAt: time,
      seenAt: time,
      // They do not go over the wire.
      figures: fc.constant(null),
    });
    expectSame(node, (given) =>
      cluster.fromWireNode(sent(job.NodeInfo, cluster.toWireNode(given))),
    );
    const schedule: fc.Arbitrary<ScheduleShape<Date>> = fc.record({
      id: id<ScheduleShape['id']>(),
      spec: json,
      paused: fc.boolean(),
      nextAt: orNull(time),
      lastAt: orNull(time),
      lastJob: orNull(id<JobId>()),
    });
    expectSame(schedule, (given) =>
      cluster.fromWireSchedule(sent(job.ScheduleInfo, cluster.toWireSchedule(given))),
    );
    const event: fc.Arbitrary<EventPage['events'][number]> = fc.record({
      seq: whole,
      at: time,
      kind: fc.constantFrom(...LOG_KINDS),
      job: orNull(id<JobId>()),
      task: orNull(pastRun.id),
      node: orNull(id<NodeShape['id']>()),
      run: orNull(count),
      attempt: orNull(count),
      fence: orNull(whole),
      detail: json,
    });
    expectSame(fc.record({ events: fc.array(event, { maxLength: 4 }), asOf }), (page) =>
      cluster.fromWireEventPage(sent(job.WatchEventsResponse, cluster.toWireEventPage(page))),
    );
    expectSame(asOf, (given) => fromWireAsOf(sent(AsOf, toWireAsOf(given))));
    expectSame(
      fc.record({ nodeId: name, url: orNull(name), grpc: orNull(name), epoch: whole }),
      (leader) => fromWireLeader(sent(LeaderInfo, toWireLeader(leader)!)),
    );
  });
});
