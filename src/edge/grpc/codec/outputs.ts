/** Outputs on workers: those that a reader did not find, and those that are not needed any more. */
import type { JobId, LeaseName } from '../../../scheduler/core/index.ts';
import type {
  FindUnneededOutputsRequest,
  FindUnneededOutputsResponse,
  TaskInputLost,
} from '../gen/millrace/v1/task.ts';
import type { Session, WorkerReport } from '../../../scheduler/contract/index.ts';
import { fromWireSession } from './session.ts';
import { present, refuse, requiredText, safeNumber, wireNumber } from './values.ts';

/** More than the tasks that one fragment reads from. */
const LOST_MAX = 100_000;
/** More queries than a worker keeps. */
const QUERIES_MAX = 100_000;

type InputLost = Extract<WorkerReport, { readonly kind: 'inputLost' }>;

export function toWireInputLost({ lost, error }: InputLost): TaskInputLost {
  return {
    lost: lost.map(({ taskId, fence }) => ({ taskId, fence: wireNumber(fence, 'lost/fence') })),
    error: { code: error.code, message: error.message },
  };
}

/** About, for the size of a message. */
export function inputLostBytes({ lost, error }: TaskInputLost): number {
  let bytes = (error?.message.length ?? 0) * 3;
  for (const { taskId } of lost) bytes += taskId.length + 16;
  return bytes;
}

export function fromWireInputLost(lease: LeaseName, given: TaskInputLost): InputLost {
  if (given.lost.length > LOST_MAX) refuse('input_lost/lost', `${given.lost.length} are too many.`);
  const { code, message } = present(given.error, 'input_lost/error');
  const lost = given.lost.map(({ taskId, fence }) => ({
    taskId: requiredText<InputLost['lost'][number]['taskId']>(taskId, 'input_lost/lost/task_id'),
    fence: safeNumber(fence, 'input_lost/lost/fence'),
  }));
  return { kind: 'inputLost', lease, lost, error: { code, message } };
}

export function toWireUnneeded(
  { nodeId, sessionId }: Session,
  queries: readonly JobId[],
  kind: 'inner' | undefined,
): FindUnneededOutputsRequest {
  const isInner = kind === 'inner';
  return { workerId: nodeId, sessionId, queryIds: [...queries], isInner };
}

export function fromWireUnneeded(request: FindUnneededOutputsRequest): {
  readonly session: Session;
  readonly queries: readonly JobId[];
  readonly kind: 'inner' | undefined;
} {
  const queries = fromWireQueries(request.queryIds);
  return {
    session: fromWireSession(request),
    queries,
    kind: request.isInner ? 'inner' : undefined,
  };
}

/** Of the requested ones: a worker drops nothing else. */
export function fromWireUnneededAnswer(
  { queryIds }: FindUnneededOutputsResponse,
  asked: readonly JobId[],
): readonly JobId[] {
  const own = new Set(asked);
  return fromWireQueries(queryIds).filter((id) => own.has(id));
}

function fromWireQueries(ids: readonly string[]): readonly JobId[] {
  if (ids.length > QUERIES_MAX) refuse('query_ids', `${ids.length} are too many.`);
  return ids.map((id) => requiredText<JobId>(id, 'query_ids'));
}
