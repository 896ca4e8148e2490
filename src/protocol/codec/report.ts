/** What workers say of their tasks, and what the leader makes of it. */
import { MillraceError } from '../../core/index.ts';
import type { FailureClass, LeaseName, ReportItem, SuspendUntil } from '../../core/index.ts';
import { FailureClass as WireFailure, Verdict as WireVerdict } from '../gen/millrace/v1/task.ts';
import type {
  ReportTaskStatusRequest,
  ReportTaskStatusResponse,
  TaskFailed,
  TaskReport,
  TaskSuspended,
} from '../gen/millrace/v1/task.ts';
import { TaskState as WireState } from '../gen/millrace/v1/types.ts';
import { inParts } from '../limits.ts';
import type { ReportReply, Session } from '../worker-port.ts';
import { fromWireLease, fromWireOrders, toWireLease, toWireOrders } from './lease.ts';
import { fromWireSession } from './session.ts';
import {
  jsonBytes,
  jsonText,
  optionalText,
  present,
  refuse,
  requiredText,
  safeNumber,
  wireNumber,
} from './values.ts';

/** More than a worker sends at once; the size of a message limits it before. */
const REPORTS_MAX = 100_000;

/** One message, or several where results are large. */
export function* reportParts(
  session: Session,
  items: readonly ReportItem[],
): Generator<ReportTaskStatusRequest> {
  const all: TaskReport[] = [];
  for (const item of items) all.push(toWireReport(item));
  for (const reports of inParts(all, payloadBytes)) {
    yield { workerId: session.nodeId, sessionId: session.sessionId, reports };
  }
}

function payloadBytes({ what }: TaskReport): number {
  switch (what?.$case) {
    case 'completed':
      return what.value.resultJson?.length ?? 0;
    case 'step':
      return what.value.bodyJson.length;
    case 'failed':
      return (what.value.error?.message.length ?? 0) * 3;
    case 'suspended':
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
  readonly items: readonly ReportItem[];
}

export function fromWireReports(request: ReportTaskStatusRequest): Reports {
  const { reports } = request;
  if (reports.length > REPORTS_MAX) refuse('reports', `${reports.length} reports are too many.`);
  const items: ReportItem[] = [];
  for (const report of reports) items.push(fromWireReport(report));
  return { session: fromWireSession(request), items };
}

function toWireReport(item: ReportItem): TaskReport {
  return {
    queryId: '',
    stageId: 0n,
    taskId: BigInt(item.lease.taskNo),
    attempt: 0,
    state: STATE_OF[item.kind],
    message: '',
    layoutVersion: 0,
    layoutFingerprint: 0n,
    reduceFetchInflightBytes: 0n,
    reduceFetchQueueDepth: 0,
    lease: toWireLease(item.lease),
    what: toWireWhat(item),
  };
}

/** For people who look at the wire: `what` says it all. */
const STATE_OF: Readonly<Record<ReportItem['kind'], WireState>> = {
  started: WireState.TASK_STATE_RUNNING,
  progress: WireState.TASK_STATE_RUNNING,
  step: WireState.TASK_STATE_RUNNING,
  completed: WireState.TASK_STATE_SUCCEEDED,
  failed: WireState.TASK_STATE_FAILED,
  aborted: WireState.TASK_STATE_CANCELLED,
  released: WireState.TASK_STATE_QUEUED,
  suspended: WireState.TASK_STATE_DELAYED,
};

function toWireWhat(item: ReportItem): TaskReport['what'] {
  switch (item.kind) {
    case 'started':
    case 'aborted':
    case 'released':
      return { $case: item.kind, value: {} };
    case 'progress': {
      const { fraction, note } = item;
      return { $case: 'progress', value: note === null ? { fraction } : { fraction, note } };
    }
    case 'step':
      return { $case: 'step', value: { name: item.name, bodyJson: jsonBytes(item.body) } };
    case 'completed': {
      const { result } = item;
      const value = result === null ? {} : { resultJson: jsonBytes(result) };
      return { $case: 'completed', value };
    }
    case 'failed': {
      const { error, failure, missing } = item;
      const value = { error, failure: WIRE_FAILURE[failure], missing: missing ?? '' };
      return { $case: 'failed', value };
    }
    case 'suspended':
      return { $case: 'suspended', value: toWireSuspension(item.until) };
  }
}

function fromWireReport(report: TaskReport): ReportItem {
  const lease = fromWireLease(report.lease);
  const what = present(report.what, 'what');
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
    case 'suspended':
      return { kind: 'suspended', lease, until: fromWireSuspension(what.value) };
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

function fromWireFailure(lease: LeaseName, given: TaskFailed): ReportItem {
  const { code, message } = present(given.error, 'failed/error');
  const failure = FAILURES[given.failure] ?? refuse('failed/failure', 'It is not specified.');
  const missing = optionalText(given.missing);
  return {
    kind: 'failed',
    lease,
    error: { code, message },
    failure,
    ...(missing === null ? {} : { missing }),
  };
}

function toWireSuspension(until: SuspendUntil): TaskSuspended {
  if (until.type === 'children') throw noChildren();
  return { until: { $case: 'forMs', value: wireNumber(until.forMs, 'suspended/for_ms') } };
}

function fromWireSuspension({ until: given }: TaskSuspended): SuspendUntil {
  const until = present(given, 'suspended/until');
  if (until.$case === 'childrenJson') throw noChildren();
  return { type: 'time', forMs: safeNumber(until.value, 'suspended/for_ms') };
}

function noChildren(): MillraceError {
  return new MillraceError({
    code: 'unimplemented',
    what: 'A task of a remote worker cannot wait for children of its own yet.',
    todo: 'Put the children into the job document.',
  });
}

const WIRE_VERDICT = { ok: WireVerdict.VERDICT_OK, lost: WireVerdict.VERDICT_LOST } as const;
const VERDICTS: readonly (ReportReply['verdicts'][number] | undefined)[] = [
  undefined,
  'ok',
  'lost',
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
    refuse('verdicts', `${count} reports were sent, ${response.verdicts.length} answered.`);
  }
  const verdicts: ReportReply['verdicts'][number][] = [];
  for (const verdict of response.verdicts) {
    verdicts.push(VERDICTS[verdict] ?? refuse('verdicts', 'One is not specified.'));
  }
  return { verdicts, orders: fromWireOrders(response.orders) };
}
