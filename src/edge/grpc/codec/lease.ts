/** Leases and orders, which every exchange with a worker repeats. */
import { TASKS_PER_JOB_LIMIT, jobNo, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName } from '../../../scheduler/core/index.ts';
import type {
  FetchAhead as WireFetchAhead,
  Lease as WireLease,
  Orders as WireOrders,
} from '../gen/millrace/v1/types.ts';
import type { FetchAhead, WorkerOrders } from '../../../scheduler/contract/index.ts';
import {
  present,
  refuse,
  requiredText,
  safeNumber,
  shortText,
  wireCount,
  wireNumber,
} from './values.ts';

/** More leases than any node holds: its slots are limited to less. */
const LEASES_MAX = 200_000;

export function toWireLease(lease: LeaseName): WireLease {
  return {
    jobNo: wireNumber(lease.jobNo, 'lease/job_no'),
    taskNo: lease.taskNo,
    fence: wireNumber(lease.fence, 'lease/fence'),
    term: lease.term,
    jobId: lease.jobId,
  };
}

export function fromWireLease(given: WireLease | undefined): LeaseName {
  const lease = present(given, 'lease');
  if (lease.taskNo >= TASKS_PER_JOB_LIMIT) {
    refuse('lease/task_no', `${lease.taskNo} exceeds the limit of tasks per job.`);
  }
  return {
    jobNo: jobNo(safeNumber(lease.jobNo, 'lease/job_no')),
    taskNo: taskNo(lease.taskNo),
    fence: safeNumber(lease.fence, 'lease/fence'),
    term: shortText(requiredText(lease.term, 'lease/term'), 'lease/term'),
    jobId: shortText(requiredText(lease.jobId, 'lease/job_id'), 'lease/job_id'),
  };
}

export function toWireLeases(leases: readonly LeaseName[]): WireLease[] {
  const list: WireLease[] = [];
  for (const lease of leases) list.push(toWireLease(lease));
  return list;
}

export function fromWireLeases(leases: readonly WireLease[], field: string): LeaseName[] {
  if (leases.length > LEASES_MAX) refuse(field, `${leases.length} leases are too many.`);
  const list: LeaseName[] = [];
  for (const lease of leases) list.push(fromWireLease(lease));
  return list;
}

export function toWireOrders(orders: WorkerOrders): WireOrders {
  return {
    abort: toWireLeases(orders.abort),
    drain: orders.drain,
    slowDownMs: wireCount(orders.slowDownMs, 'orders/slow_down_ms'),
    fetchWindowBytes: wireNumber(orders.fetchWindowBytes ?? 0, 'orders/fetch_window_bytes'),
    fetchAhead: (orders.fetchAhead ?? []).map(({ query, reads }) => ({ queryId: query, reads })),
  };
}

export function fromWireOrders(given: WireOrders | undefined): WorkerOrders {
  const orders = present(given, 'orders');
  const fetchWindowBytes = safeNumber(orders.fetchWindowBytes, 'orders/fetch_window_bytes');
  return {
    abort: fromWireLeases(orders.abort, 'orders/abort'),
    drain: orders.drain,
    slowDownMs: orders.slowDownMs,
    ...(fetchWindowBytes === 0 ? undefined : { fetchWindowBytes }),
    ...(orders.fetchAhead.length === 0 ? undefined : { fetchAhead: orders.fetchAhead.map(ahead) }),
  };
}

function ahead({ queryId, reads }: WireFetchAhead): FetchAhead {
  const query = shortText(requiredText(queryId, 'fetch_ahead/query_id'), 'fetch_ahead/query_id');
  return { query: query as JobId, reads };
}
