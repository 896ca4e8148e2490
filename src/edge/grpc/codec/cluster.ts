/** Nodes, schedules and events as people see them. */
import { LOG_KINDS } from '../../../scheduler/core/index.ts';
import type { Json, LogKind, NodeStatus } from '../../../scheduler/core/index.ts';
import type {
  Event as WireEvent,
  ListNodesRequest,
  NodeInfo,
  ScheduleInfo,
  WatchEventsResponse,
} from '../gen/millrace/v1/job.ts';
import type {
  EventPage,
  EventShape,
  NodeFilter,
  NodeShape,
  ScheduleShape,
} from '../../../scheduler/contract/index.ts';
import { fromWireAsOf, toWireAsOf } from './leader.ts';
import {
  fromWireTime,
  fromWireTimeOrNone,
  jsonBytes,
  jsonText,
  optionalText,
  parsedJson,
  refuse,
  requiredText,
  safeNumber,
  wireCount,
  wireNumber,
  toWireTime,
  toWireTimeOrNone,
} from './values.ts';

const STATUSES: ReadonlySet<string> = new Set<NodeStatus>(['healthy', 'stale', 'dead']);

export function toWireNode(node: NodeShape<Date>): NodeInfo {
  return {
    id: node.id,
    status: node.status,
    draining: node.draining,
    slots: wireCount(node.slots, 'slots'),
    running: wireCount(node.running, 'running'),
    executors: [...node.executors],
    capabilitiesJson: jsonBytes(JSON.stringify(node.capabilities)),
    address: node.address ?? '',
    version: node.version,
    quarantinedUntilMs: toWireTimeOrNone(node.quarantinedUntil, 'quarantined_until_ms'),
    registeredAtMs: toWireTime(node.registeredAt, 'registered_at_ms'),
    seenAtMs: toWireTime(node.seenAt, 'seen_at_ms'),
  };
}

export function fromWireNode(node: NodeInfo): NodeShape<Date> {
  if (!STATUSES.has(node.status)) refuse('status', 'Must be healthy, stale or dead.');
  return {
    id: requiredText(node.id, 'id'),
    status: node.status as NodeStatus,
    draining: node.draining,
    slots: node.slots,
    running: node.running,
    executors: node.executors,
    capabilities: fromWireCapabilities(node.capabilitiesJson),
    address: optionalText(node.address),
    version: node.version,
    quarantinedUntil: fromWireTimeOrNone(node.quarantinedUntilMs, 'quarantined_until_ms'),
    registeredAt: fromWireTime(node.registeredAtMs, 'registered_at_ms'),
    seenAt: fromWireTime(node.seenAtMs, 'seen_at_ms'),
    figures: null,
  };
}

function fromWireCapabilities(bytes: Buffer): NodeShape['capabilities'] {
  const field = 'capabilities_json';
  const value = parsedJson(jsonText(bytes, field), field);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(field, 'It is not a JSON object.');
  }
  return value as Readonly<Record<string, Json>>;
}

export function toWireSchedule(schedule: ScheduleShape<Date>): ScheduleInfo {
  return {
    id: schedule.id,
    specJson: jsonBytes(JSON.stringify(schedule.spec)),
    paused: schedule.paused,
    nextAtMs: toWireTimeOrNone(schedule.nextAt, 'next_at_ms'),
    lastAtMs: toWireTimeOrNone(schedule.lastAt, 'last_at_ms'),
    lastJobId: schedule.lastJob ?? '',
  };
}

export function fromWireSchedule(schedule: ScheduleInfo): ScheduleShape<Date> {
  return {
    id: requiredText(schedule.id, 'id'),
    spec: parsedJson(jsonText(schedule.specJson, 'spec_json'), 'spec_json'),
    paused: schedule.paused,
    nextAt: fromWireTimeOrNone(schedule.nextAtMs, 'next_at_ms'),
    lastAt: fromWireTimeOrNone(schedule.lastAtMs, 'last_at_ms'),
    lastJob: optionalText(schedule.lastJobId),
  };
}

export function toWireEventPage(page: EventPage): WatchEventsResponse {
  const events: WireEvent[] = [];
  for (const event of page.events) events.push(toWireEvent(event));
  return { events, asOf: toWireAsOf(page.asOf) };
}

export function fromWireEventPage(response: WatchEventsResponse): EventPage {
  const events: EventShape<Date>[] = [];
  for (const event of response.events) events.push(fromWireEvent(event));
  return { events, asOf: fromWireAsOf(response.asOf) };
}

function toWireEvent(event: EventShape<Date>): WireEvent {
  const { run, attempt, fence, detail } = event;
  return {
    seq: wireNumber(event.seq, 'seq'),
    atMs: toWireTime(event.at, 'at_ms'),
    kind: event.kind,
    jobId: event.job ?? '',
    taskId: event.task ?? '',
    nodeId: event.node ?? '',
    run: run === null ? undefined : wireCount(run, 'run'),
    attempt: attempt === null ? undefined : wireCount(attempt, 'attempt'),
    fence: fence === null ? undefined : wireNumber(fence, 'fence'),
    detailJson: detail === null ? '' : JSON.stringify(detail),
  };
}

const KINDS: ReadonlySet<string> = new Set(LOG_KINDS);

function fromWireEvent(event: WireEvent): EventShape<Date> {
  if (!KINDS.has(event.kind))
    refuse('kind', `'${event.kind.slice(0, 40)}' is not a valid event kind.`);
  return {
    seq: safeNumber(event.seq, 'seq'),
    at: fromWireTime(event.atMs, 'at_ms'),
    kind: event.kind as LogKind,
    job: optionalText(event.jobId),
    task: optionalText(event.taskId),
    node: optionalText(event.nodeId),
    run: event.run ?? null,
    attempt: event.attempt ?? null,
    fence: event.fence === undefined ? null : safeNumber(event.fence, 'fence'),
    detail: event.detailJson === '' ? null : parsedJson(event.detailJson, 'detail_json'),
  };
}

export function fromWireNodeFilter(request: ListNodesRequest): NodeFilter {
  const { executor, operator, capability } = request;
  return {
    ...(executor === '' ? {} : { executor }),
    ...(operator === '' ? {} : { operator }),
    ...(capability === '' ? {} : { capability }),
  };
}
