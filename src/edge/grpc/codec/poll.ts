/** Work on its way to a worker. Inputs and steps are JSON text at both ends and bytes between. */
import {
  FRAGMENT_EXECUTOR,
  fragmentNo,
  instant,
  readTrace,
} from '../../../scheduler/core/index.ts';
import type { FragmentNo } from '../../../scheduler/core/index.ts';
import type {
  GetTaskRequest,
  GetTaskResponse,
  TaskAssignment,
  TaskChild,
  TaskStep,
} from '../gen/millrace/v1/task.ts';
import { fitting } from '../limits.ts';
import { LAYOUT_VERSION } from '../../../scheduler/contract/index.ts';
import type {
  ChildOutcome,
  PollReply,
  PollRequest,
  ReadyAssignment,
  StepRecord,
} from '../../../scheduler/contract/index.ts';
import {
  fromWireError,
  fromWireStartedBy,
  fromWireState,
  toWireError,
  toWireStartedBy,
  toWireState,
} from './jobs.ts';
import {
  fromWireLease,
  fromWireLeases,
  fromWireOrders,
  toWireLease,
  toWireLeases,
  toWireOrders,
} from './lease.ts';
import { fromWireSession } from './session.ts';
import { nameTask } from './task-names.ts';
import {
  jsonBytes,
  jsonText,
  optionalText,
  requiredText,
  safeNumber,
  wireCount,
  wireNumber,
} from './values.ts';

const NO_BYTES: Buffer = Buffer.alloc(0);
/** About what a child needs beside its result: its id and a short error. */
const CHILD_BYTES = 256;
/** The longest key of a label, and what the message needs around it. */
const LABEL_BYTES = 72;

/** The list of leases is made when it is read: a packed poll does not have it. */
export function toWirePoll(request: PollRequest, waitMs: number): GetTaskRequest {
  return {
    workerId: request.nodeId,
    sessionId: request.sessionId,
    capacity: wireCount(request.capacity, 'capacity'),
    pollNo: wireNumber(request.pollNo, 'poll_no'),
    get held() {
      return toWireLeases(request.held);
    },
    waitMs: wireCount(waitMs, 'wait_ms'),
    refills: request.refills === true,
  };
}

export function fromWirePoll(request: GetTaskRequest): PollRequest {
  return {
    ...fromWireSession(request),
    capacity: request.capacity,
    pollNo: safeNumber(request.pollNo, 'poll_no'),
    held: fromWireLeases(request.held, 'held'),
    refills: request.refills,
  };
}

/** What does not fit into the message is left out: the worker does not hold it, so it is sent again. */
export function toWirePollReply(reply: PollReply): GetTaskResponse {
  const tasks: TaskAssignment[] = [];
  for (const assignment of reply.assignments) tasks.push(toWireAssignment(assignment));
  tasks.length = fitting(tasks, 0, payloadBytes);
  return { tasks, orders: toWireOrders(reply.orders) };
}

function payloadBytes(task: TaskAssignment): number {
  const { inputJson, planFragmentJson, steps, children, labels } = task;
  let bytes = inputJson.length + planFragmentJson.length;
  for (const { bodyJson } of steps) bytes += bodyJson.length;
  for (const { resultJson } of children) bytes += CHILD_BYTES + (resultJson?.length ?? 0);
  for (const value of Object.values(labels)) bytes += LABEL_BYTES + Buffer.byteLength(value);
  return bytes;
}

export function fromWirePollReply(response: GetTaskResponse): PollReply {
  const assignments: ReadyAssignment[] = [];
  for (const task of response.tasks) assignments.push(fromWireAssignment(task));
  return { assignments, orders: fromWireOrders(response.orders) };
}

export function toWireAssignment(assignment: ReadyAssignment): TaskAssignment {
  const { lease, runMs } = assignment;
  const fragment = fragmentOf(assignment);
  const input = jsonBytes(assignment.input);
  return {
    queryId: assignment.jobId,
    stageId: BigInt(fragment?.stage ?? 0),
    taskId: BigInt(fragment?.task ?? lease.taskNo),
    attempt: wireCount(assignment.attempt, 'attempt'),
    planFragmentJson: fragment === null ? NO_BYTES : input,
    layoutVersion: fragment === null ? 0 : LAYOUT_VERSION,
    lease: toWireLease(lease),
    taskName: assignment.taskId,
    executor: assignment.executor,
    run: wireCount(assignment.run, 'run'),
    inputJson: fragment === null ? input : NO_BYTES,
    runTimeoutMs: runMs === null ? 0n : wireNumber(runMs, 'run_timeout_ms'),
    resumed: assignment.resumed,
    idempotencyKey: assignment.idempotencyKey ?? '',
    steps: toWireSteps(assignment.steps),
    assignedAtMs: wireNumber(assignment.assignedAt, 'assigned_at_ms'),
    children: toWireChildren(assignment.children),
    hasChildren: assignment.hasChildren,
    scheduledAtMs:
      assignment.scheduledAt === null
        ? undefined
        : wireNumber(assignment.scheduledAt, 'scheduled_at_ms'),
    traceparent: assignment.trace?.parent ?? '',
    tracestate: assignment.trace?.state ?? '',
    startedBy: toWireStartedBy(assignment.about?.startedBy ?? null),
    labels: { ...assignment.about?.labels },
  };
}

/** A task of a query is named by its stage, and its input is the fragment. */
function fragmentOf({ executor, taskId }: ReadyAssignment): FragmentNo | null {
  return executor === FRAGMENT_EXECUTOR ? fragmentNo(taskId) : null;
}

export function fromWireAssignment(task: TaskAssignment): ReadyAssignment {
  const lease = fromWireLease(task.lease);
  const { stageId, taskId, attempt, planFragmentJson } = task;
  nameTask(lease, { stageId, taskId, attempt });
  return {
    lease,
    jobId: requiredText(task.queryId, 'query_id'),
    taskId: requiredText(task.taskName, 'task_name'),
    executor: requiredText(task.executor, 'executor'),
    run: task.run,
    attempt: task.attempt,
    runMs: task.runTimeoutMs === 0n ? null : safeNumber(task.runTimeoutMs, 'run_timeout_ms'),
    resumed: task.resumed,
    input:
      planFragmentJson.length > 0
        ? jsonText(planFragmentJson, 'plan_fragment_json')
        : jsonText(task.inputJson, 'input_json'),
    idempotencyKey: optionalText(task.idempotencyKey),
    steps: fromWireSteps(task.steps),
    assignedAt: instant(safeNumber(task.assignedAtMs, 'assigned_at_ms')),
    children: fromWireChildren(task.children),
    hasChildren: task.hasChildren,
    scheduledAt:
      task.scheduledAtMs === undefined
        ? null
        : instant(safeNumber(task.scheduledAtMs, 'scheduled_at_ms')),
    trace: readTrace(task.traceparent, task.tracestate),
    ...aboutJob(task),
  };
}

function aboutJob({ startedBy, labels }: TaskAssignment): Pick<ReadyAssignment, 'about'> {
  if (startedBy === undefined && Object.keys(labels).length === 0) return {};
  return { about: { startedBy: fromWireStartedBy(startedBy), labels: { ...labels } } };
}

function toWireChildren(children: readonly ChildOutcome[]): TaskChild[] {
  const list: TaskChild[] = [];
  for (const { id, state, result, error } of children) {
    const resultJson = result === null ? {} : { resultJson: jsonBytes(result) };
    list.push({ id, state: toWireState(state), error: toWireError(error), ...resultJson });
  }
  return list;
}

function fromWireChildren(children: readonly TaskChild[]): ChildOutcome[] {
  const list: ChildOutcome[] = [];
  for (const { id, state, resultJson, error } of children) {
    list.push({
      id: requiredText(id, 'children/id'),
      state: fromWireState(state),
      result: resultJson === undefined ? null : jsonText(resultJson, 'children/result_json'),
      error: fromWireError(error),
    });
  }
  return list;
}

function toWireSteps(steps: readonly StepRecord[]): TaskStep[] {
  const list: TaskStep[] = [];
  for (const { name, body } of steps) list.push({ name, bodyJson: jsonBytes(body) });
  return list;
}

function fromWireSteps(steps: readonly TaskStep[]): StepRecord[] {
  const list: StepRecord[] = [];
  for (const { name, bodyJson } of steps) list.push({ name, body: jsonText(bodyJson, 'steps') });
  return list;
}
