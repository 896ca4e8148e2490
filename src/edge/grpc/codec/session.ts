/** How a session begins, is kept alive and ends. */
import {
  MillraceError,
  OPERATOR_PREFIX,
  isOperatorExecutor,
  operatorExecutor,
  parseCapabilities,
  parseFlows,
  parseOperators,
} from '../../../scheduler/core/index.ts';
import type {
  FlowDeclaration,
  LeaderAddress,
  NodeId,
  NodeOffer,
  OperatorDeclaration,
  SessionId,
} from '../../../scheduler/core/index.ts';
import type { HeartbeatRequest, HeartbeatResponse } from '../gen/millrace/v1/heartbeat.ts';
import type {
  DeregisterWorkerRequest,
  RegisterWorkerRequest,
  RegisterWorkerResponse,
} from '../gen/millrace/v1/task.ts';
import { PROTOCOL_VERSION } from '../../../scheduler/contract/index.ts';
import type {
  Beat,
  Handshake,
  Registered,
  Session,
  WorkerOrders,
} from '../../../scheduler/contract/index.ts';
import { toWireLeader } from './leader.ts';
import { fromWireLeases, fromWireOrders, toWireLeases, toWireOrders } from './lease.ts';
import {
  jsonBytes,
  jsonText,
  optionalText,
  parsedJson,
  refuse,
  requiredText,
  safeNumber,
  wireCount,
  wireNumber,
} from './values.ts';

/** A node that offers more has made a mistake. */
const EXECUTORS_MAX = 1_000;

export function toWireRegister(
  offer: NodeOffer,
  handshake: Handshake,
  operators: readonly OperatorDeclaration[] = [],
  flows: readonly FlowDeclaration[] = [],
): RegisterWorkerRequest {
  return {
    workerId: offer.id,
    sessionId: offer.sessionId,
    slots: wireCount(offer.slots, 'slots'),
    prefetch: wireCount(offer.prefetch, 'prefetch'),
    executors: [...offer.executors],
    capabilitiesJson: jsonBytes(JSON.stringify(offer.capabilities)),
    address: offer.address ?? '',
    protocolVersion: wireCount(handshake.protocol, 'protocol_version'),
    millraceVersion: handshake.millrace,
    duckdbVersion: handshake.duckdb ?? '',
    operatorsJson: jsonBytes(operators.length === 0 ? '' : JSON.stringify(operators)),
    flowsJson: jsonBytes(flows.length === 0 ? '' : JSON.stringify(flows)),
  };
}

export interface Registration {
  readonly offer: NodeOffer;
  readonly handshake: Handshake;
  readonly operators: readonly OperatorDeclaration[];
  readonly flows: readonly FlowDeclaration[];
}

export function fromWireRegister(request: RegisterWorkerRequest): Registration {
  const { capabilitiesJson, operatorsJson, flowsJson } = request;
  const field = 'capabilities_json';
  const operators = listIn(operatorsJson, 'operators_json', parseOperators);
  const flows = listIn(flowsJson, 'flows_json', parseFlows);
  const names = operators.map(({ name }) => operatorExecutor(name));
  const executors = fromWireExecutors(request.executors, 'executors');
  const capabilities =
    capabilitiesJson.length === 0
      ? {}
      : parseCapabilities(parsedJson(jsonText(capabilitiesJson, field), field), `/${field}`);
  return {
    offer: {
      id: requiredText(request.workerId, 'worker_id'),
      sessionId: requiredText(request.sessionId, 'session_id'),
      slots: request.slots,
      prefetch: request.prefetch,
      // Each operator is advertised, whether or not the worker says so twice.
      executors: [...new Set([...executors, ...names])],
      capabilities,
      address: optionalText(request.address),
      version: request.millraceVersion,
    },
    handshake: {
      protocol: request.protocolVersion,
      millrace: request.millraceVersion,
      duckdb: optionalText(request.duckdbVersion),
    },
    operators,
    flows,
  };
}

function listIn<T>(
  bytes: Buffer,
  field: string,
  parse: (value: unknown, path: string) => readonly T[],
): readonly T[] {
  return bytes.length === 0 ? [] : parse(parsedJson(jsonText(bytes, field), field), `/${field}`);
}

function fromWireExecutors(executors: readonly string[], field: string): readonly string[] {
  if (executors.length > EXECUTORS_MAX) refuse(field, `${executors.length} are too many.`);
  return executors;
}

export function toWireRegistered(
  registered: Registered,
  version: string,
  leader: LeaderAddress | null,
): RegisterWorkerResponse {
  return {
    sessionTtlMs: wireCount(registered.sessionTtlMs, 'session_ttl_ms'),
    heartbeatMs: wireCount(registered.heartbeatMs, 'heartbeat_ms'),
    protocolVersion: PROTOCOL_VERSION,
    millraceVersion: version,
    leader: toWireLeader(leader),
    sessionName: registered.sessionName ?? '',
  };
}

export function fromWireRegistered(response: RegisterWorkerResponse): Registered {
  const { sessionTtlMs, heartbeatMs, sessionName } = response;
  if (sessionTtlMs === 0) refuse('session_ttl_ms', 'It is missing.');
  if (heartbeatMs === 0) refuse('heartbeat_ms', 'It is missing.');
  return { sessionTtlMs, heartbeatMs, ...(sessionName === '' ? {} : { sessionName }) };
}

export function toWireBeat(beat: Beat, atMs: number): HeartbeatRequest {
  return {
    workerId: beat.nodeId,
    sessionId: beat.sessionId,
    atMs: wireNumber(atMs, 'at_ms'),
    runningTasks: beat.held.length,
    customOperatorCapabilities: beat.executors
      .filter(isOperatorExecutor)
      .map((each) => each.slice(OPERATOR_PREFIX.length)),
    executors: beat.executors.filter((each) => !isOperatorExecutor(each)),
    held: toWireLeases(beat.held),
    seenPoll: wireNumber(beat.seenPoll, 'seen_poll'),
    figures:
      beat.figures === undefined
        ? undefined
        : {
            residentBytes: wireNumber(beat.figures.residentBytes, 'resident_bytes'),
            shuffleBytes: wireNumber(beat.figures.shuffleBytes, 'shuffle_bytes'),
            diskFreeBytes: wireNumber(beat.figures.diskFreeBytes, 'disk_free_bytes'),
            fetchBytesPerSecond: wireNumber(
              beat.figures.fetchBytesPerSecond,
              'fetch_bytes_per_second',
            ),
          },
  };
}

/** A thousand workers send hundreds a second: so nothing is copied to be copied again. */
export function fromWireBeat(request: HeartbeatRequest): Beat {
  const { nodeId, sessionId } = fromWireSession(request);
  const held = fromWireLeases(request.held, 'held');
  const seenPoll = safeNumber(request.seenPoll, 'seen_poll');
  const operators = request.customOperatorCapabilities;
  fromWireExecutors(operators, 'custom_operator_capabilities');
  const plain = fromWireExecutors(request.executors, 'executors');
  const executors = operators.length === 0 ? plain : [...plain, ...operators.map(operatorExecutor)];
  const beat = { nodeId, sessionId, held, seenPoll, executors };
  if (request.figures === undefined) return beat;
  const { residentBytes, shuffleBytes, diskFreeBytes, fetchBytesPerSecond } = request.figures;
  const figures = {
    residentBytes: safeNumber(residentBytes, 'resident_bytes'),
    shuffleBytes: safeNumber(shuffleBytes, 'shuffle_bytes'),
    diskFreeBytes: safeNumber(diskFreeBytes, 'disk_free_bytes'),
    fetchBytesPerSecond: safeNumber(fetchBytesPerSecond, 'fetch_bytes_per_second'),
  };
  return { ...beat, figures };
}

export function toWireBeatAnswer(orders: WorkerOrders): HeartbeatResponse {
  return { accepted: true, orders: toWireOrders(orders) };
}

export function fromWireBeatAnswer(response: HeartbeatResponse): WorkerOrders {
  return fromWireOrders(response.orders);
}

export function toWireSession(session: Session): DeregisterWorkerRequest {
  return { workerId: session.nodeId, sessionId: session.sessionId };
}

export function fromWireSession(request: DeregisterWorkerRequest): Session {
  const nodeId: NodeId = requiredText(request.workerId, 'worker_id');
  if (request.sessionId === '') throw noSession(nodeId);
  return { nodeId, sessionId: request.sessionId as SessionId };
}

/** The answer to whoever has never registered. */
function noSession(nodeId: NodeId): MillraceError {
  return new MillraceError({
    code: 'unknown_session',
    what: `Worker ${nodeId} has given no session_id.`,
    todo: 'Call RegisterWorker first, with a session id of its own choice, and give that in every call.',
  });
}
