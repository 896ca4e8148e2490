/** Work on its way to a worker. Inputs and steps are JSON text at both ends and bytes between. */
import type {
  GetTaskRequest,
  GetTaskResponse,
  TaskAssignment,
  TaskStep,
} from '../gen/millrace/v1/task.ts';
import { fitting } from '../limits.ts';
import type { PollReply, PollRequest, ReadyAssignment, StepRecord } from '../worker-port.ts';
import {
  fromWireLease,
  fromWireLeases,
  fromWireOrders,
  toWireLease,
  toWireLeases,
  toWireOrders,
} from './lease.ts';
import { fromWireSession } from './session.ts';
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

export function toWirePoll(request: PollRequest, waitMs: number): GetTaskRequest {
  return {
    workerId: request.nodeId,
    sessionId: request.sessionId,
    capacity: wireCount(request.capacity, 'capacity'),
    pollNo: wireNumber(request.pollNo, 'poll_no'),
    held: toWireLeases(request.held),
    waitMs: wireCount(waitMs, 'wait_ms'),
  };
}

export function fromWirePoll(request: GetTaskRequest): PollRequest {
  return {
    ...fromWireSession(request),
    capacity: request.capacity,
    pollNo: safeNumber(request.pollNo, 'poll_no'),
    held: fromWireLeases(request.held, 'held'),
  };
}

/** What does not fit into the message is left out: the worker does not hold it, so it is sent again. */
export function toWirePollReply(reply: PollReply): GetTaskResponse {
  const tasks: TaskAssignment[] = [];
  for (const assignment of reply.assignments) tasks.push(toWireAssignment(assignment));
  tasks.length = fitting(tasks, 0, payloadBytes);
  return { tasks, orders: toWireOrders(reply.orders) };
}

function payloadBytes({ inputJson, steps }: TaskAssignment): number {
  let bytes = inputJson.length;
  for (const { bodyJson } of steps) bytes += bodyJson.length;
  return bytes;
}

export function fromWirePollReply(response: GetTaskResponse): PollReply {
  const assignments: ReadyAssignment[] = [];
  for (const task of response.tasks) assignments.push(fromWireAssignment(task));
  return { assignments, orders: fromWireOrders(response.orders) };
}

function toWireAssignment(assignment: ReadyAssignment): TaskAssignment {
  const { lease, runMs } = assignment;
  return {
    queryId: assignment.jobId,
    stageId: 0n,
    taskId: BigInt(lease.taskNo),
    attempt: wireCount(assignment.attempt, 'attempt'),
    planFragmentJson: NO_BYTES,
    assignedReducePartitions: [],
    assignedReduceSplitIndex: 0,
    assignedReduceSplitCount: 0,
    layoutVersion: 0,
    layoutFingerprint: 0n,
    recommendedMapOutputPublishWindowPartitions: 0,
    recommendedReduceFetchWindowPartitions: 0,
    lease: toWireLease(lease),
    taskName: assignment.taskId,
    executor: assignment.executor,
    run: wireCount(assignment.run, 'run'),
    inputJson: jsonBytes(assignment.input),
    runTimeoutMs: runMs === null ? 0n : wireNumber(runMs, 'run_timeout_ms'),
    resumed: assignment.resumed,
    idempotencyKey: assignment.idempotencyKey ?? '',
    steps: toWireSteps(assignment.steps),
  };
}

function fromWireAssignment(task: TaskAssignment): ReadyAssignment {
  return {
    lease: fromWireLease(task.lease),
    jobId: requiredText(task.queryId, 'query_id'),
    taskId: requiredText(task.taskName, 'task_name'),
    executor: requiredText(task.executor, 'executor'),
    run: task.run,
    attempt: task.attempt,
    runMs: task.runTimeoutMs === 0n ? null : safeNumber(task.runTimeoutMs, 'run_timeout_ms'),
    resumed: task.resumed,
    input: jsonText(task.inputJson, 'input_json'),
    idempotencyKey: optionalText(task.idempotencyKey),
    steps: fromWireSteps(task.steps),
  };
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
