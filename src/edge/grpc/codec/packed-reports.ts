/** Reports in packed rows. All but starts and results are messages of the plain form in their rows. */
import type { Session, WorkerReport } from '../../../scheduler/contract/index.ts';
import { TaskReport } from '../gen/millrace/v1/task.ts';
import type { PackedReports } from '../gen/millrace/v1/work.ts';
import { LEASE_BYTES, packLease, readLease } from './packed-leases.ts';
import { PackedRows, ReadRows } from './packed-rows.ts';
import { REPORTS_MAX, type Reports, fromWireReport, toWireReport } from './report.ts';
import { fromWireSession } from './session.ts';
import { refuse } from './values.ts';

const KIND = LEASE_BYTES;
/** Of the result, or of the message. */
const BODY = KIND + 4;
const ROW_BYTES = BODY + 4;

const MESSAGE = 0;
const STARTED = 1;
const COMPLETED = 2;
/** With nothing as its result. */
const ENDED = 3;

export function toPackedReports(
  { nodeId, sessionId }: Session,
  items: readonly WorkerReport[],
): PackedReports {
  const rows = new PackedRows(ROW_BYTES, items.length);
  for (const item of items) packReport(rows, rows.next(), item);
  return { workerId: nodeId, sessionId, reports: rows.finish() };
}

export function fromPackedReports(request: PackedReports): Reports {
  const rows = new ReadRows(request.reports, ROW_BYTES, 'reports', REPORTS_MAX);
  const items: WorkerReport[] = [];
  for (let no = 0; no < rows.count; no += 1) items.push(readReport(rows, rows.row(no)));
  rows.end();
  return { session: fromWireSession(request), items };
}

function packReport(rows: PackedRows, at: number, item: WorkerReport): void {
  if (item.kind === 'started') {
    packLease(rows, at, item.lease);
    rows.u32(at + KIND, STARTED);
  } else if (item.kind === 'completed') {
    packLease(rows, at, item.lease);
    rows.u32(at + KIND, item.result === null ? ENDED : COMPLETED);
    rows.u32(at + BODY, item.result === null ? 0 : rows.text(item.result));
  } else {
    rows.u32(at + KIND, MESSAGE);
    rows.u32(at + BODY, rows.raw(TaskReport.encode(toWireReport(item)).finish()));
  }
}

function readReport(rows: ReadRows, at: number): WorkerReport {
  const kind = rows.u32(at + KIND);
  switch (kind) {
    case MESSAGE:
      return readMessage(rows.raw(rows.u32(at + BODY), 'message'));
    case STARTED:
      return { kind: 'started', lease: readLease(rows, at) };
    case COMPLETED: {
      const lease = readLease(rows, at);
      const result = rows.text(rows.u32(at + BODY), 'result_json');
      return { kind: 'completed', lease, result };
    }
    case ENDED:
      return { kind: 'completed', lease: readLease(rows, at), result: null };
    default:
      return refuse('reports', `${kind} is not a kind of report.`);
  }
}

function readMessage(bytes: Buffer): WorkerReport {
  return fromWireReport(decoded(bytes));
}

function decoded(bytes: Buffer): TaskReport {
  try {
    return TaskReport.decode(bytes);
  } catch {
    return refuse('reports', 'A message in it does not match its type.');
  }
}
