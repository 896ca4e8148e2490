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
import { isLikeJob, isLikeSpec, isLikeTask } from './like-rows.ts';
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
type Named = string | EventRow | JobRow | TaskSpecRow | TaskRow | (() => string);

function nameOf(row: Named): string {
  if (typeof row === 'string') return row;
  if (typeof row === 'function') return row();
  if ('seq' in row) return `event ${row.seq}`;
  if ('no' in row) return `job ${row.no}`;
  const task = `task ${row.jobNo}/${row.taskNo}`;
  return 'executor' in row ? `the spec of ${task}` : task;
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

function rule(row: Named, holds: boolean, why: string): void {
  if (!holds) throw badRow(nameOf(row), why);
}

const PRIORITY = [0, 1, 2, 3];
const ON_FAILURE = ['finish', 'cancel'];
const JOB_STOPPING = ['cancel', 'timeout', 'failure', null];
const TASK_STOPPING = ['cancel', 'timeout', null];
const SUSPENDED = ['time', 'children', 'signal', 'job', null];
const KEY_STATES = ['pending', 'completed'];
const NODE_STATUS = ['healthy', 'stale', 'dead'];

/** What the index `job_started_by` has of the options; see migration 0027. */
function starterIn(options: string | null): string | null {
  if (options === null || !options.includes('"startedBy":')) return null;
  return /"startedBy":(\{"(?:event|job)":"[^"]*")/.exec(options)?.[1] ?? null;
}

/** `before` is the row in front of it, if there is one: rows of a batch are much alike, and what is the same there has been
 * looked at. */
export function checkJob(job: JobRow, before?: JobRow): void {
  whole(job, 'no', job.no, 1);
  indexed(job, 'id', job.id);
  for (const label of job.labels) indexed(job, 'labels', label);
  time(job, 'createdAt', job.createdAt);
  time(job, 'startedAt', job.startedAt);
  time(job, 'finishedAt', job.finishedAt);
  if (isFinished(job.state) !== (job.finishedAt !== null)) {
    throw badRow(nameOf(job), `state ${job.state} with finishedAt ${job.finishedAt}`);
  }
  if (before === undefined || !isLikeJob(job, before)) checkJobAlone(job);
}

function checkJobAlone(job: JobRow): void {
  text(job, 'name', job.name);
  oneOf(job, 'priority', job.priority, PRIORITY);
  indexed(job, 'idempotencyKey', job.idempotencyKey);
  small(job, 'maxParallel', job.maxParallel, 1);
  oneOf(job, 'onFailure', job.onFailure, ON_FAILURE);
  whole(job, 'totalMs', job.totalMs);
  indexed(job, 'scheduleId', job.scheduleId);
  text(job, 'output', job.output);
  time(job, 'runAt', job.runAt);
  text(job, 'options', job.options);
  indexed(job, 'options.startedBy', starterIn(job.options));
  oneOf(job, 'state', job.state, JOB_STATES);
  small(job, 'run', job.run);
  small(job, 'taskCount', job.taskCount);
  oneOf(job, 'stopping', job.stopping, JOB_STOPPING);
  error(job, job.error);
}

export function checkSpec(spec: TaskSpecRow, before?: TaskSpecRow): void {
  small(spec, 'taskNo', spec.taskNo);
  for (const edge of spec.dependsOn) small(spec, 'dependsOn', edge < 0 ? ~edge : edge);
  if (spec.input !== before?.input) text(spec, 'input', spec.input);
  if (before === undefined || !isLikeSpec(spec, before)) checkSpecAlone(spec);
}

function checkSpecAlone(spec: TaskSpecRow): void {
  indexed(spec, 'id', spec.id);
  text(spec, 'executor', spec.executor);
  oneOf(spec, 'priority', spec.priority, PRIORITY);
  small(spec, 'parentNo', spec.parentNo);
  if (spec.idempotencyKey !== null) {
    indexed(spec, 'idempotencyKey', keyScope(spec.executor, spec.idempotencyKey));
  }
  text(spec, 'options', spec.options);
}

export function checkTask(task: TaskRow, before?: TaskRow): void {
  small(task, 'fence', task.fence);
  if (task.nodeId !== before?.nodeId) text(task, 'nodeId', task.nodeId);
  if (task.sessionId !== before?.sessionId) text(task, 'sessionId', task.sessionId);
  time(task, 'notBefore', task.notBefore);
  time(task, 'queuedAt', task.queuedAt);
  time(task, 'startedAt', task.startedAt);
  time(task, 'finishedAt', task.finishedAt);
  const fault = stateFault(task);
  if (fault !== null) throw badRow(nameOf(task), fault);
  if (before === undefined || !isLikeTask(task, before)) checkTaskAlone(task);
}

function checkTaskAlone(task: TaskRow): void {
  oneOf(task, 'state', task.state, TASK_STATES);
  small(task, 'run', task.run);
  small(task, 'attempt', task.attempt);
  small(task, 'failures', task.failures);
  small(task, 'losses', task.losses);
  text(task, 'term', task.term);
  oneOf(task, 'stopping', task.stopping, TASK_STOPPING);
  oneOf(task, 'suspended', task.suspended, SUSPENDED);
  text(task, 'waits', task.waits);
  if (!(task.progress >= 0 && task.progress <= 1)) {
    throw badRow(nameOf(task), `progress is ${task.progress}`);
  }
  error(task, task.error);
}

/** What does not fit together; null when all does. */
function stateFault(task: TaskRow): string | null {
  const { state, sessionId, finishedAt } = task;
  const isRunning = state === 'running';
  if (isRunning !== (sessionId !== null)) return `state ${state} with sessionId ${sessionId}`;
  if (isRunning && !(task.fence > 0)) return 'running without a fence';
  if (!isRunning && task.stopping !== null) return `stopping while ${state}`;
  if (isTerminal(state) !== (finishedAt !== null)) {
    return `state ${state} with finishedAt ${finishedAt}`;
  }
  return state === 'delayed' && task.notBefore === null ? 'delayed without notBefore' : null;
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

export function checkEvent(event: EventRow, before?: EventRow): void {
  whole(event, 'seq', event.seq, 1);
  if (event.at !== before?.at) time(event, 'at', event.at);
  if (event.kind !== before?.kind && !KINDS.has(event.kind))
    throw badRow(nameOf(event), 'there is no such kind of event');
  if (event.nodeId !== before?.nodeId) text(event, 'nodeId', event.nodeId);
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
  each(batch.jobInserts, checkJob);
  each(batch.jobUpdates, checkJob);
  each(batch.specInserts, checkSpec);
  each(batch.taskInserts, checkTask);
  each(batch.taskUpdates, checkTask);
  for (const result of batch.results) checkPayload(result, 'result', result.body);
  for (const key of batch.keyUpserts) checkKey(key);
  for (const step of batch.steps) checkPayload(step, 'step', step.body, step.name);
  for (const signal of batch.signalInserts) checkSignal(signal);
  for (const taken of batch.takenSignals) checkTaken(taken);
  for (const node of batch.nodeUpserts) checkNode(node);
  for (const schedule of batch.scheduleUpserts) checkSchedule(schedule);
  for (const limit of batch.limitUpserts) checkLimit(limit);
  each(batch.events, checkEvent);
}

/** With the row before it. */
function each<Row>(rows: readonly Row[], check: (row: Row, before?: Row) => void): void {
  for (let at = 0; at < rows.length; at += 1) check(rows[at] as Row, rows[at - 1]);
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
