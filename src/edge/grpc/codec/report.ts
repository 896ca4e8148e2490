/** The reports of workers about their tasks, and the leader's verdicts. */
import type { FailureClass, LeaseName } from '../../../scheduler/core/index.ts';
import { FailureClass as WireFailure, Verdict as WireVerdict } from '../gen/millrace/v1/task.ts';
import type {
  ReportTaskStatusRequest,
  ReportTaskStatusResponse,
  TaskFailed,
  TaskReport,
} from '../gen/millrace/v1/task.ts';
import { TaskState as WireState } from '../gen/millrace/v1/types.ts';
import { PAYLOAD_BYTES_MAX } from '../../../scheduler/contract/index.ts';
import { WORK_MESSAGE_BYTES_MAX, inParts } from '../limits.ts';
import type { ReportReply, Session, WorkerReport } from '../../../scheduler/contract/index.ts';
import { fromWireLease, fromWireOrders, toWireLease, toWireOrders } from './lease.ts';
import { fromWireInputLost, inputLostBytes, toWireInputLost } from './outputs.ts';
import { fromWireSession } from './session.ts';
import { checkNames, namesOf } from './task-names.ts';
import {
  documentBytes,
  fromWireSuspension,
  suspensionBytes,
  toWireSuspension,
} from './suspension.ts';
import {
  jsonBytes,
  jsonText,
  optionalText,
  parsedJson,
  present,
  refuse,
  requiredText,
  wireCount,
} from './values.ts';

/** More than a worker sends at once; the size of a message limits it before. */
export const REPORTS_MAX = 100_000;

/** Free text is for people; a longer one is not read by anybody. */
const TEXT_LENGTH_MAX = 20_000;

/** What goes with one call. */
export interface ReportPart {
  /** Its reports are made when they are read: a packed call does without them. */
  readonly request: ReportTaskStatusRequest;
  readonly items: readonly WorkerReport[];
  /** It fits a message on a stream. */
  readonly isShort: boolean;
}

/** One call, or several where results are large. */
export function* reportParts(
  session: Session,
  items: readonly WorkerReport[],
): Generator<ReportPart> {
  const ids = { workerId: session.nodeId, sessionId: session.sessionId };
  if (areShort(items)) {
    const request = {
      ...ids,
      get reports() {
        return items.map(toWireReport);
      },
    };
    yield { request, items, isShort: true };
    return;
  }
  let start = 0;
  for (const reports of inParts(items.map(toWireReport), payloadBytes)) {
    const part = items.slice(start, start + reports.length);
    start += reports.length;
    yield { request: { ...ids, reports }, items: part, isShort: false };
  }
}

/** So that any text of this many characters fits, with what stands around it. */
const SHORT_LENGTH = WORK_MESSAGE_BYTES_MAX / 8;
/** About what a row needs beside its texts. */
const ROW_LENGTH = 100;

function areShort(items: readonly WorkerReport[]): boolean {
  let length = 0;
  for (const item of items) {
    if (item.kind === 'completed') length += ROW_LENGTH + (item.result?.length ?? 0);
    else if (item.kind === 'started') length += ROW_LENGTH;
    else length += ROW_LENGTH + payloadBytes(toWireReport(item));
    if (length > SHORT_LENGTH) return false;
  }
  return true;
}

function payloadBytes({ what }: TaskReport): number {
  switch (what?.$case) {
    case 'completed':
      return what.value.resultJson?.length ?? 0;
    case 'step':
      return what.value.name.length * 3 + what.value.bodyJson.length;
    case 'submitted':
      return what.value.name.length * 3 + what.value.documentJson.length;
    case 'failed':
      return (what.value.error?.message.length ?? 0) * 3;
    case 'suspended':
      return suspensionBytes(what.value);
    case 'inputLost':
      return inputLostBytes(what.value);
    case 'progress':
    case 'started':
    case 'aborted':
    case 'released':
    case undefined:
      return 0;
  }
}

export interface Reports {
  readonly session: Session;
  readonly items: readonly WorkerReport[];
}

export function fromWireReports(request: ReportTaskStatusRequest): Reports {
  const { reports } = request;
  if (reports.length > REPORTS_MAX) refuse('reports', `${reports.length} reports are too many.`);
  const items: WorkerReport[] = [];
  for (const report of reports) items.push(fromWireReport(report));
  return { session: fromWireSession(request), items };
}

/** What no message can carry would be refused for ever, so its task fails with the reason. */
export function toWireReport(item: WorkerReport): TaskReport {
  const report = wholeReport(item);
  const bytes = payloadBytes(report);
  return bytes > PAYLOAD_BYTES_MAX ? wholeReport(tooLarge(item, bytes)) : report;
}

function tooLarge({ kind, lease }: WorkerReport, bytes: number): WorkerReport {
  const [what, todo] =
    kind === 'suspended' || kind === 'submitted' ? TOO_MUCH_TO_ADD : TOO_MUCH_TO_KEEP;
  const message = `${what} about ${bytes} bytes, more than the ${PAYLOAD_BYTES_MAX} bytes that can be sent to the leader. ${todo}`;
  return { kind: 'failed', lease, error: { code: 'too_large', message }, failure: 'fatal' };
}

const TOO_MUCH_TO_KEEP = [
  'What it returned is',
  'Store large data in a file or an object store, and return its location.',
] as const;
const TOO_MUCH_TO_ADD = [
  'The tasks or jobs that it starts are',
  'Start fewer at once, and give them references instead of large inputs.',
] as const;

function wholeReport(item: WorkerReport): TaskReport {
  return {
    ...namesOf(item.lease),
    state: STATE_OF[item.kind],
    message: item.kind === 'failed' ? cut(item.error.message) : '',
    lease: toWireLease(item.lease),
    what: toWireWhat(item),
  };
}

/** The short form, for people who look at the wire; `what` is complete by itself. */
const STATE_OF: Readonly<Record<WorkerReport['kind'], WireState>> = {
  started: WireState.TASK_STATE_RUNNING,
  progress: WireState.TASK_STATE_RUNNING,
  step: WireState.TASK_STATE_RUNNING,
  completed: WireState.TASK_STATE_SUCCEEDED,
  failed: WireState.TASK_STATE_FAILED,
  inputLost: WireState.TASK_STATE_QUEUED,
  aborted: WireState.TASK_STATE_CANCELLED,
  released: WireState.TASK_STATE_QUEUED,
  suspended: WireState.TASK_STATE_DELAYED,
  // A leader that does not know the kind must refuse it, not take it for another one and lose the job.
  submitted: WireState.TASK_STATE_UNSPECIFIED,
};

function toWireWhat(item: WorkerReport): TaskReport['what'] {
  switch (item.kind) {
    case 'started':
    case 'aborted':
    case 'released':
      return { $case: item.kind, value: {} };
    case 'progress': {
      const { fraction, note } = item;
      const value = note === null ? { fraction } : { fraction, note: cut(note) };
      return { $case: 'progress', value };
    }
    case 'step':
      return { $case: 'step', value: { name: item.name, bodyJson: jsonBytes(item.body) } };
    case 'completed': {
      const { result } = item;
      const value = result === null ? {} : { resultJson: jsonBytes(result) };
      return { $case: 'completed', value };
    }
    case 'failed': {
      const { failure, missing = '', retryAfterMs } = item;
      const error = { code: cut(item.error.code), message: cut(item.error.message) };
      const value = { error, failure: WIRE_FAILURE[failure], missing: cut(missing) };
      if (retryAfterMs === undefined) return { $case: 'failed', value };
      const wait = wireCount(retryAfterMs, 'failed/retry_after_ms');
      return { $case: 'failed', value: { ...value, retryAfterMs: wait } };
    }
    case 'inputLost': {
      const error = { code: cut(item.error.code), message: cut(item.error.message) };
      return { $case: 'inputLost', value: toWireInputLost({ ...item, error }) };
    }
    case 'suspended':
      return { $case: 'suspended', value: toWireSuspension(item.until) };
    case 'submitted': {
      const documentJson = documentBytes(item.document, 'submitted/document_json');
      const run = wireCount(item.run, 'submitted/run');
      return { $case: 'submitted', value: { run, name: item.name, documentJson } };
    }
  }
}

/** What a report without `what` says. */
function shortForm({ state, message }: TaskReport): NonNullable<TaskReport['what']> {
  if (state === WireState.TASK_STATE_RUNNING) return { $case: 'started', value: {} };
  if (state === WireState.TASK_STATE_SUCCEEDED) return { $case: 'completed', value: {} };
  if (state !== WireState.TASK_STATE_FAILED) return refuse('what', 'It is missing.');
  const error = { code: 'task_failed', message: cut(message) };
  const failure = WireFailure.FAILURE_CLASS_RETRYABLE;
  return { $case: 'failed', value: { error, failure, missing: '' } };
}

export function fromWireReport(report: TaskReport): WorkerReport {
  const lease = fromWireLease(report.lease);
  checkNames(report, lease);
  const what = report.what ?? shortForm(report);
  switch (what.$case) {
    case 'started':
    case 'aborted':
    case 'released':
      return { kind: what.$case, lease };
    case 'progress':
      return {
        kind: 'progress',
        lease,
        fraction: what.value.fraction,
        note: what.value.note ?? null,
      };
    case 'step': {
      const name: string = requiredText(what.value.name, 'step/name');
      return { kind: 'step', lease, name, body: jsonText(what.value.bodyJson, 'step/body_json') };
    }
    case 'completed': {
      const { resultJson } = what.value;
      const result = resultJson === undefined ? null : jsonText(resultJson, 'result_json');
      return { kind: 'completed', lease, result };
    }
    case 'failed':
      return fromWireFailure(lease, what.value);
    case 'inputLost':
      return fromWireInputLost(lease, what.value);
    case 'suspended':
      return { kind: 'suspended', lease, until: fromWireSuspension(what.value) };
    case 'submitted': {
      const { run, documentJson } = what.value;
      const name: string = requiredText(what.value.name, 'submitted/name');
      const field = 'submitted/document_json';
      const document = parsedJson(jsonText(documentJson, field), field);
      return { kind: 'submitted', lease, run, name, document };
    }
  }
}

const WIRE_FAILURE: Readonly<Record<FailureClass, WireFailure>> = {
  retryable: WireFailure.FAILURE_CLASS_RETRYABLE,
  fatal: WireFailure.FAILURE_CLASS_FATAL,
  missing: WireFailure.FAILURE_CLASS_MISSING,
};
const FAILURES: readonly (FailureClass | undefined)[] = [
  undefined,
  'retryable',
  'fatal',
  'missing',
];

function fromWireFailure(lease: LeaseName, given: TaskFailed): WorkerReport {
  const { code, message } = present(given.error, 'failed/error');
  const failure = FAILURES[given.failure] ?? refuse('failed/failure', 'It is not specified.');
  const missing = optionalText(given.missing);
  const { retryAfterMs } = given;
  return {
    kind: 'failed',
    lease,
    error: { code, message },
    failure,
    ...(missing === null ? {} : { missing }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : text.slice(0, TEXT_LENGTH_MAX);
}

const WIRE_VERDICT = {
  ok: WireVerdict.VERDICT_OK,
  lost: WireVerdict.VERDICT_LOST,
  unregistered: WireVerdict.VERDICT_NOT_REGISTERED,
} as const;
const VERDICTS: readonly (ReportReply['verdicts'][number] | undefined)[] = [
  undefined,
  'ok',
  'lost',
  'unregistered',
];

export function toWireReportReply(reply: ReportReply): ReportTaskStatusResponse {
  const verdicts: WireVerdict[] = [];
  for (const verdict of reply.verdicts) verdicts.push(WIRE_VERDICT[verdict]);
  return { verdicts, orders: toWireOrders(reply.orders) };
}

/** One verdict for each report that was sent, or the answer is worth nothing. */
export function fromWireReportReply(
  response: ReportTaskStatusResponse,
  count: number,
): ReportReply {
  if (response.verdicts.length !== count) {
    refuse('verdicts', `Sent ${count} reports but received ${response.verdicts.length} verdicts.`);
  }
  const verdicts: ReportReply['verdicts'][number][] = [];
  for (const verdict of response.verdicts) {
    verdicts.push(VERDICTS[verdict] ?? refuse('verdicts', 'One is not specified.'));
  }
  return { verdicts, orders: fromWireOrders(response.orders) };
}
