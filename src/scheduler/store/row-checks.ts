/**
 * What a stored row may look like, for the adapters that have no server to say it for them. The
 * same rules stand as CHECK constraints in the SQL schemas; here they also cover what a driver
 * would change in silence, such as a lone surrogate or a fraction in a whole-number column.
 */
import {
  type Batch,
  type EventRow,
  isFinished,
  isStorableText,
  isTerminal,
  JOB_STATES,
  type JobRow,
  type KeyRow,
  keyScope,
  type LimitRow,
  LOG_KINDS,
  MillraceError,
  type NodeRow,
  type DeclarationKind,
  type DeclarationRow,
  type ScheduleRow,
  type SignalRow,
  type TakenSignalRow,
  TASK_STATES,
  type TaskError,
  type TaskRow,
  type TaskSpecRow,
  utf8Bytes,
} from '../core/index.ts';
import type { InboxRow } from './store.ts';

/** Nothing was changed; `row` names the offender, so that the caller can refuse just that one. */
export function badRow(row: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_row',
    what: `The store rejected ${row}: ${why}.`,
    todo: 'Nothing of the batch was stored.',
    cause,
  });
}

type Nullable<T> = T | null;

/** Rows are many: the name of one is made only when there is something to say of it. */
type Named = string | EventRow | (() => string);

function nameOf(row: Named): string {
  if (typeof row === 'string') return row;
  return typeof row === 'function' ? row() : `event ${row.seq}`;
}

function text(row: Named, column: string, value: Nullable<string>): void {
  if (value !== null && !isStorableText(value)) {
    throw badRow(nameOf(row), `${column} contains NUL or an unpaired surrogate`);
  }
}

function whole(row: Named, column: string, value: Nullable<number>, least = 0): void {
  if (value !== null && !(Number.isSafeInteger(value) && value >= least)) {
    throw badRow(nameOf(row), `${column} is ${value}, not a whole number from ${least}`);
  }
}

/** Columns of four bytes in the databases. */
const SMALL_MAX = 2 ** 31 - 1;

function small(row: Named, column: string, value: Nullable<number>, least = 0): void {
  whole(row, column, value, least);
  if (value !== null && value > SMALL_MAX)
    throw badRow(nameOf(row), `${column} ${value} is too large`);
}

/** From the year 1, before which PostgreSQL writes years in another way, to the last time that JavaScript has. */
const TIME_MIN = -62_135_596_800_000;
const TIME_MAX = 8_640_000_000_000_000;

function time(row: Named, column: string, value: Nullable<number>): void {
  if (value === null) return;
  if (Number.isInteger(value) && value >= TIME_MIN && value <= TIME_MAX) return;
  throw badRow(nameOf(row), `${column} is ${value}, which is not a valid time in milliseconds`);
}

/** An entry of an index has at most 2,704 bytes in PostgreSQL, with what stands around the text. */
const INDEXED_BYTES_MAX = 2_600;
/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;

/** Text that is in an index: a fold would fail for ever on one that is too long. */
function indexed(row: Named, column: string, value: Nullable<string>): void {
  text(row, column, value);
  if (value === null || value.length * BYTES_A_CHARACTER <= INDEXED_BYTES_MAX) return;
  if (utf8Bytes(value) > INDEXED_BYTES_MAX) {
    throw badRow(nameOf(row), `${column} has more than ${INDEXED_BYTES_MAX} bytes`);
  }
}

function oneOf(row: Named, column: string, value: unknown, allowed: readonly unknown[]): void {
  if (!allowed.includes(value)) throw badRow(nameOf(row), `${column} is ${String(value)}`);
}

function error(row: Named, value: Nullable<TaskError>): void {
  if (value === null) return;
  text(row, 'error.code', value.code);
  text(row, 'error.message', value.message);
}

function rule(row: Named, holds: boolean, why: string | (() => string)): void {
  if (!holds) throw badRow(nameOf(row), typeof why === 'string' ? why : why());
}

const PRIORITY = [0, 1, 2, 3];
const ON_FAILURE = ['finish', 'cancel'];
const JOB_STOPPING = ['cancel', 'timeout', 'failure', null];
const TASK_STOPPING = ['cancel', 'timeout', null];
const SUSPENDED = ['time', 'children', 'signal', 'job', null];
const KEY_STATES = ['pending', 'completed'];
const NODE_STATUS = ['healthy', 'stale', 'dead'];

export function checkJob(job: JobRow): void {
  const row = (): string => `job ${job.no}`;
  whole(row, 'no', job.no, 1);
  indexed(row, 'id', job.id);
  text(row, 'name', job.name);
  oneOf(row, 'priority', job.priority, PRIORITY);
  indexed(row, 'idempotencyKey', job.idempotencyKey);
  small(row, 'maxParallel', job.maxParallel, 1);
  oneOf(row, 'onFailure', job.onFailure, ON_FAILURE);
  whole(row, 'totalMs', job.totalMs);
  text(row, 'scheduleId', job.scheduleId);
  text(row, 'output', job.output);
  for (const label of job.labels) indexed(row, 'labels', label);
  time(row, 'runAt', job.runAt);
  text(row, 'options', job.options);
  time(row, 'createdAt', job.createdAt);
  oneOf(row, 'state', job.state, JOB_STATES);
  small(row, 'run', job.run);
  small(row, 'taskCount', job.taskCount);
  oneOf(row, 'stopping', job.stopping, JOB_STOPPING);
  error(row, job.error);
  time(row, 'startedAt', job.startedAt);
  time(row, 'finishedAt', job.finishedAt);
  const ended = isFinished(job.state) === (job.finishedAt !== null);
  rule(row, ended, () => `state ${job.state} with finishedAt ${job.finishedAt}`);
}

export function checkSpec(spec: TaskSpecRow): void {
  const row = (): string => `the spec of task ${spec.jobNo}/${spec.taskNo}`;
  small(row, 'taskNo', spec.taskNo);
  indexed(row, 'id', spec.id);
  text(row, 'executor', spec.executor);
  oneOf(row, 'priority', spec.priority, PRIORITY);
  small(row, 'parentNo', spec.parentNo);
  for (const edge of spec.dependsOn) small(row, 'dependsOn', edge < 0 ? ~edge : edge);
  if (spec.idempotencyKey !== null) {
    indexed(row, 'idempotencyKey', keyScope(spec.executor, spec.idempotencyKey));
  }
  text(row, 'options', spec.options);
  text(row, 'input', spec.input);
}

export function checkTask(task: TaskRow): void {
  const row = (): string => `task ${task.jobNo}/${task.taskNo}`;
  oneOf(row, 'state', task.state, TASK_STATES);
  small(row, 'run', task.run);
  small(row, 'attempt', task.attempt);
  small(row, 'failures', task.failures);
  small(row, 'losses', task.losses);
  small(row, 'fence', task.fence);
  text(row, 'term', task.term);
  text(row, 'nodeId', task.nodeId);
  text(row, 'sessionId', task.sessionId);
  oneOf(row, 'stopping', task.stopping, TASK_STOPPING);
  oneOf(row, 'suspended', task.suspended, SUSPENDED);
  text(row, 'waits', task.waits);
  time(row, 'notBefore', task.notBefore);
  rule(row, task.progress >= 0 && task.progress <= 1, () => `progress is ${task.progress}`);
  error(row, task.error);
  time(row, 'queuedAt', task.queuedAt);
  time(row, 'startedAt', task.startedAt);
  time(row, 'finishedAt', task.finishedAt);
  const leased = (task.state === 'running') === (task.sessionId !== null);
  rule(row, leased, () => `state ${task.state} with sessionId ${task.sessionId}`);
  rule(row, task.state !== 'running' || task.fence > 0, 'running without a fence');
  rule(
    row,
    task.state === 'running' || task.stopping === null,
    () => `stopping while ${task.state}`,
  );
  const ended = isTerminal(task.state) === (task.finishedAt !== null);
  rule(row, ended, () => `state ${task.state} with finishedAt ${task.finishedAt}`);
  rule(row, task.state !== 'delayed' || task.notBefore !== null, 'delayed without notBefore');
}

export function checkPayload(
  row: { readonly jobNo: number; readonly taskNo: number; readonly run: number },
  what: 'result' | 'step',
  body: string,
  name = '',
): void {
  const where = (): string => `a ${what} of task ${row.jobNo}/${row.taskNo}`;
  small(where, 'run', row.run);
  text(where, 'body', body);
  indexed(where, 'name', name);
}

export function checkSignal(signal: SignalRow): void {
  const row = `signal ${signal.no} of job ${signal.jobNo}`;
  small(row, 'no', signal.no);
  indexed(row, 'id', signal.id);
  text(row, 'name', signal.name);
  text(row, 'body', signal.body);
  time(row, 'sentAt', signal.sentAt);
}

/** The step that a signal becomes; the signal's own row has been checked when it came. */
function checkTaken({ step, ...row }: TakenSignalRow): void {
  checkPayload(row, 'step', '', step);
}

export function checkKey(key: KeyRow): void {
  const row = `key ${key.scope}`;
  indexed(row, 'scope', key.scope);
  oneOf(row, 'state', key.state, KEY_STATES);
  text(row, 'result', key.result);
  rule(row, key.state === 'completed' || key.result === null, 'pending with a result');
  time(row, 'updatedAt', key.updatedAt);
}

export function checkNode(node: NodeRow): void {
  const row = `node ${node.id}`;
  indexed(row, 'id', node.id);
  text(row, 'sessionId', node.sessionId);
  oneOf(row, 'status', node.status, NODE_STATUS);
  small(row, 'slots', node.slots);
  small(row, 'prefetch', node.prefetch);
  for (const executor of node.executors) text(row, 'executors', executor);
  text(row, 'capabilities', node.capabilities);
  text(row, 'address', node.address);
  text(row, 'version', node.version);
  time(row, 'quarantinedUntil', node.quarantinedUntil);
  time(row, 'registeredAt', node.registeredAt);
  time(row, 'seenAt', node.seenAt);
}

export function checkSchedule(schedule: ScheduleRow): void {
  const row = `schedule ${schedule.id}`;
  indexed(row, 'id', schedule.id);
  text(row, 'spec', schedule.spec);
  time(row, 'nextAt', schedule.nextAt);
  time(row, 'lastAt', schedule.lastAt);
  text(row, 'lastJobId', schedule.lastJobId);
}

export function checkLimit(limit: LimitRow): void {
  const row = `limit ${limit.id}`;
  indexed(row, 'id', limit.id);
  text(row, 'state', limit.state);
}

export function checkDeclaration(kind: DeclarationKind, { id, declaration }: DeclarationRow): void {
  const row = `${kind} ${id}`;
  text(row, 'id', id);
  text(row, 'declaration', declaration);
}

const KINDS: ReadonlySet<string> = new Set(LOG_KINDS);

export function checkEvent(event: EventRow): void {
  whole(event, 'seq', event.seq, 1);
  time(event, 'at', event.at);
  rule(event, KINDS.has(event.kind), 'there is no such kind of event');
  text(event, 'nodeId', event.nodeId);
  small(event, 'run', event.run);
  small(event, 'attempt', event.attempt);
  small(event, 'fence', event.fence);
  text(event, 'detail', event.detail);
}

export function checkInbox({ no, jobId, document }: InboxRow): void {
  const row = `inbox row ${no}`;
  whole(row, 'no', no);
  text(row, 'jobId', jobId);
  text(row, 'document', document);
}

export function checkCounters(row: Counters & { readonly shard: number }): void {
  small(`shard ${row.shard}`, 'shard', row.shard);
  whole(`shard ${row.shard}`, 'lastSeq', row.lastSeq);
  whole(`shard ${row.shard}`, 'nextJobNo', row.nextJobNo, 1);
}

/** The counters a batch starts from. */
interface Counters {
  readonly lastSeq: number;
  readonly nextJobNo: number;
}

/** All that can be said about a batch without looking at the rows that are stored already. */
export function checkBatch(batch: Batch, before: Counters): void {
  checkNumbers(batch, before);
  for (const job of batch.jobInserts) checkJob(job);
  for (const job of batch.jobUpdates) checkJob(job);
  for (const spec of batch.specInserts) checkSpec(spec);
  for (const task of batch.taskInserts) checkTask(task);
  for (const task of batch.taskUpdates) checkTask(task);
  for (const result of batch.results) checkPayload(result, 'result', result.body);
  for (const key of batch.keyUpserts) checkKey(key);
  for (const step of batch.steps) checkPayload(step, 'step', step.body, step.name);
  for (const signal of batch.signalInserts) checkSignal(signal);
  for (const taken of batch.takenSignals) checkTaken(taken);
  for (const node of batch.nodeUpserts) checkNode(node);
  for (const schedule of batch.scheduleUpserts) checkSchedule(schedule);
  for (const limit of batch.limitUpserts) checkLimit(limit);
  for (const event of batch.events) checkEvent(event);
}

/** Event numbers continue without a gap, and a job number is never given out twice. */
function checkNumbers(batch: Batch, before: Counters): void {
  let seq = before.lastSeq;
  for (const event of batch.events) {
    seq += 1;
    if (event.seq !== seq) throw badRow(nameOf(event), `the next event number is ${seq}`);
  }
  rule('the counters', batch.lastSeq === seq, `lastSeq is ${batch.lastSeq}, not ${seq}`);
  whole('the counters', 'nextJobNo', batch.nextJobNo, before.nextJobNo);
  const given = `numbers from ${before.nextJobNo} to below ${batch.nextJobNo} are given out here`;
  for (const { no } of batch.jobInserts) {
    if (no < before.nextJobNo || no >= batch.nextJobNo) throw badRow(`job ${no}`, given);
  }
  const { length } = batch.specInserts;
  rule('the batch', batch.taskInserts.length === length, 'specs and tasks do not come in pairs');
}
