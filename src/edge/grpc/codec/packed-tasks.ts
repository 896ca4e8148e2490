/** Assignments in packed rows. One that has more than the columns is a message of the plain form in its row. */
import { FRAGMENT_EXECUTOR, instant } from '../../../scheduler/core/index.ts';
import type { PollReply, ReadyAssignment } from '../../../scheduler/contract/index.ts';
import { TaskAssignment } from '../gen/millrace/v1/task.ts';
import type { PackedTasks } from '../gen/millrace/v1/work.ts';
import { fitting } from '../limits.ts';
import { fromWireOrders, toWireOrders } from './lease.ts';
import { LEASE_BYTES, packLease, readLease } from './packed-leases.ts';
import { PackedRows, ReadRows } from './packed-rows.ts';
import { fromWireAssignment, toWireAssignment } from './poll.ts';
import { refuse } from './values.ts';

/** 0 for a message of the plain form, else the name of the executor. */
const EXECUTOR = LEASE_BYTES;
/** Of the input, or of the message. */
const BODY = EXECUTOR + 4;
const TASK_ID = BODY + 4;
const RUN = TASK_ID + 4;
const ATTEMPT = RUN + 4;
const ASSIGNED_AT = ATTEMPT + 4;
/** 0 for no limit. */
const RUN_MS = ASSIGNED_AT + 8;
const ROW_BYTES = RUN_MS + 8;

/** More than a worker ever takes at once. */
const TASKS_MAX = 200_000;
/** Beyond this the bytes of an input are counted, below it they are guessed. */
const COUNTED_LENGTH = 1_000;

type Packable = ReadyAssignment | Uint8Array;

/** What does not fit into the message is left out: the worker does not hold it, so it is sent again. */
export function toPackedTasks({ assignments, orders }: PollReply): PackedTasks {
  const all = assignments.map((each) => (isPlain(each) ? each : messageOf(each)));
  const count = fitting(all, 0, bytesOf);
  const rows = new PackedRows(ROW_BYTES, count);
  for (let no = 0; no < count; no += 1) packTask(rows, rows.next(), all[no] as Packable);
  return { tasks: rows.finish(), orders: toWireOrders(orders) };
}

export function fromPackedTasks({ tasks, orders }: PackedTasks): PollReply {
  const rows = new ReadRows(tasks, ROW_BYTES, 'tasks', TASKS_MAX);
  const assignments: ReadyAssignment[] = [];
  for (let no = 0; no < rows.count; no += 1) assignments.push(readTask(rows, rows.row(no)));
  rows.end();
  return { assignments, orders: fromWireOrders(orders) };
}

/** Whether the columns hold all of it. */
function isPlain(task: ReadyAssignment): boolean {
  return (
    task.steps.length === 0 &&
    task.children.length === 0 &&
    !task.hasChildren &&
    !task.resumed &&
    task.idempotencyKey === null &&
    task.scheduledAt === null &&
    task.trace === null &&
    task.about === undefined &&
    task.jobId === task.lease.jobId &&
    task.executor !== FRAGMENT_EXECUTOR
  );
}

function messageOf(task: ReadyAssignment): Uint8Array {
  return TaskAssignment.encode(toWireAssignment(task)).finish();
}

function bytesOf(task: Packable): number {
  if (task instanceof Uint8Array) return task.length;
  const { length } = task.input;
  return length < COUNTED_LENGTH ? length : Buffer.byteLength(task.input);
}

function packTask(rows: PackedRows, at: number, task: Packable): void {
  if (task instanceof Uint8Array) {
    rows.u32(at + EXECUTOR, 0);
    rows.u32(at + BODY, rows.raw(task));
    return;
  }
  packLease(rows, at, task.lease);
  rows.u32(at + EXECUTOR, rows.name(task.executor) + 1);
  rows.u32(at + TASK_ID, rows.text(task.taskId));
  rows.u32(at + BODY, rows.text(task.input));
  rows.u32(at + RUN, task.run);
  rows.u32(at + ATTEMPT, task.attempt);
  rows.whole(at + ASSIGNED_AT, task.assignedAt, 'assigned_at_ms');
  rows.whole(at + RUN_MS, task.runMs ?? 0, 'run_timeout_ms');
}

function readTask(rows: ReadRows, at: number): ReadyAssignment {
  const executor = rows.u32(at + EXECUTOR);
  if (executor === 0) return readMessage(rows.raw(rows.u32(at + BODY), 'message'));
  const lease = readLease(rows, at);
  const taskId = rows.text(rows.u32(at + TASK_ID), 'task_name');
  if (taskId === '') refuse('task_name', 'It is missing.');
  const runMs = rows.whole(at + RUN_MS, 'run_timeout_ms');
  return {
    lease,
    jobId: lease.jobId,
    taskId: taskId as ReadyAssignment['taskId'],
    executor: rows.name(executor - 1, 'executor'),
    run: rows.u32(at + RUN),
    attempt: rows.u32(at + ATTEMPT),
    runMs: runMs === 0 ? null : runMs,
    resumed: false,
    input: rows.text(rows.u32(at + BODY), 'input_json'),
    idempotencyKey: null,
    steps: [],
    assignedAt: instant(rows.whole(at + ASSIGNED_AT, 'assigned_at_ms')),
    children: [],
    hasChildren: false,
    scheduledAt: null,
    trace: null,
  };
}

function readMessage(bytes: Buffer): ReadyAssignment {
  return fromWireAssignment(decoded(bytes));
}

function decoded(bytes: Buffer): TaskAssignment {
  try {
    return TaskAssignment.decode(bytes);
  } catch {
    return refuse('tasks', 'A message in it does not match its type.');
  }
}
