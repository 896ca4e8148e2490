/** Queries on the wire. */
import { PRIORITIES } from '../../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../../scheduler/core/index.ts';
import { QueryState } from '../gen/millrace/v1/query.ts';
import type {
  PartitionBytesBucket,
  QueryStatus,
  RegisterQueryResultsRequest,
  StageMetrics,
  SubmitQueryRequest,
} from '../gen/millrace/v1/query.ts';
import { RESULT_FORMATS } from '../../../scheduler/contract/index.ts';
import type {
  QueryShape,
  ResultChunk,
  ResultFormat,
  StageShape,
  SubmitOptions,
} from '../../../scheduler/contract/index.ts';
import { chosenJobId } from './change.ts';
import {
  jsonBytes,
  jsonText,
  parsedJson,
  refuse,
  requiredText,
  safeNumber,
  wireCount,
  wireNumber,
  toWireTime,
  toWireTimeOrNone,
} from './values.ts';

const WIRE_STATE: Readonly<Record<JobState, QueryState>> = {
  queued: QueryState.QUERY_STATE_QUEUED,
  running: QueryState.QUERY_STATE_RUNNING,
  succeeded: QueryState.QUERY_STATE_SUCCEEDED,
  failed: QueryState.QUERY_STATE_FAILED,
  cancelled: QueryState.QUERY_STATE_CANCELED,
};

export function toWireQueryState(state: JobState): QueryState {
  return WIRE_STATE[state];
}

export interface NewQuery {
  /** As the HTTP API takes it, unchecked. */
  readonly request: unknown;
  readonly options: SubmitOptions;
}

/** `newJobId` is asked when the caller left the choice to us. */
export function fromWireQuery(query: SubmitQueryRequest, newJobId: () => JobId): NewQuery {
  const { queryId, sql, physicalPlanJson, idempotencyKey, priority } = query;
  if (sql === '' && physicalPlanJson.length === 0) {
    refuse('sql', 'The request has neither SQL nor a plan.');
  }
  if (priority !== undefined && !PRIORITIES.some((known) => known === priority)) {
    refuse('priority', 'It must be 0 to 3.');
  }
  const json = (bytes: Buffer, field: string, as: string): object =>
    bytes.length === 0 ? {} : { [as]: parsedJson(jsonText(bytes, field), field) };
  const request = {
    ...(sql === '' ? {} : { sql }),
    ...json(physicalPlanJson, 'physical_plan_json', 'plan'),
    ...json(query.tablesJson, 'tables_json', 'tables'),
    ...json(query.settingsJson, 'settings_json', 'settings'),
    ...json(query.paramsJson, 'params_json', 'params'),
    ...(idempotencyKey === '' ? {} : { idempotencyKey }),
    ...(priority === undefined ? {} : { priority }),
  };
  return { request, options: chosenJobId(queryId, newJobId) };
}

export function fromWireChunk(wire: RegisterQueryResultsRequest): ResultChunk {
  return {
    query: requiredText<JobId>(wire.queryId, 'query_id'),
    stage: safeNumber(wire.stageId, 'stage_id'),
    task: safeNumber(wire.taskId, 'task_id'),
    attempt: wire.attempt,
    fence: safeNumber(wire.fence, 'fence'),
    chunk: wire.chunk,
    payload: wire.ipcPayload,
    rows: wire.last ? safeNumber(wire.rows, 'rows') : null,
  };
}

export function fromWireFormat(format: string): ResultFormat {
  if (format === '') return 'parquet';
  const known = RESULT_FORMATS.find((each) => each === format);
  return known ?? refuse('format', `It must be one of ${RESULT_FORMATS.join(', ')}.`);
}

export function toWireQuery(query: QueryShape<Date>): QueryStatus {
  const { id, state, error, submittedAt, startedAt, finishedAt, stages } = query;
  return {
    queryId: id,
    state: toWireQueryState(state),
    submittedAtMs: toWireTime(submittedAt, 'submitted_at_ms'),
    startedAtMs: toWireTimeOrNone(startedAt, 'started_at_ms'),
    finishedAtMs: toWireTimeOrNone(finishedAt, 'finished_at_ms'),
    message: error?.message ?? query.waiting?.why ?? '',
    stageMetrics: stages.map((stage) => toWireStage(stage, readersOf(stages, stage.id))),
    queryJson: jsonBytes(JSON.stringify(query)),
  };
}

interface Readers {
  readonly plannedReduceTasks: number;
  readonly adaptiveReduceTasks: number;
  readonly adaptiveTargetBytes: bigint;
}

/** Tasks of the stages that read this one. */
function readersOf(stages: readonly StageShape[], id: number): Readers {
  const readers = stages.filter(({ inputs }) => inputs.some(({ stage }) => stage === id));
  const groupings = readers.flatMap(({ grouping }) => grouping ?? []);
  const targetBytes = Math.max(0, ...groupings.map((each) => each.targetBytes));
  return {
    plannedReduceTasks: Math.max(0, ...readers.map(({ tasks }) => tasks.total)),
    adaptiveReduceTasks: Math.max(0, ...groupings.map(({ tasks }) => tasks)),
    adaptiveTargetBytes: wireNumber(targetBytes, 'adaptive_target_bytes'),
  };
}

function toWireStage(stage: StageShape, readers: Readers): StageMetrics {
  const { id, tasks, rowsOut, bytesOut, batches, partitionBytes } = stage;
  return {
    stageId: wireNumber(id, 'stage_id'),
    queuedTasks: wireCount(tasks.queued, 'queued_tasks'),
    runningTasks: wireCount(tasks.running, 'running_tasks'),
    succeededTasks: wireCount(tasks.succeeded, 'succeeded_tasks'),
    failedTasks: wireCount(tasks.failed, 'failed_tasks'),
    mapOutputRows: wireNumber(rowsOut, 'map_output_rows'),
    mapOutputBytes: wireNumber(bytesOut, 'map_output_bytes'),
    mapOutputBatches: wireNumber(batches, 'map_output_batches'),
    mapOutputPartitions: BigInt(partitionBytes.length),
    ...readers,
    partitionBytesHistogram: histogram(partitionBytes),
    inputRows: wireNumber(stage.rowsIn, 'input_rows'),
    fetchedBytes: wireNumber(stage.fetchedBytes, 'fetched_bytes'),
    spilledBytes: wireNumber(stage.spilledBytes, 'spilled_bytes'),
    elapsedMs: wireNumber(stage.elapsedMs ?? 0, 'elapsed_ms'),
    workMs: wireNumber(stage.workMs, 'work_ms'),
    recomputedTasks: wireCount(tasks.recomputed, 'recomputed_tasks'),
  };
}

const KIB = 1024n;
const MIB: bigint = KIB * KIB;
const BOUNDS: readonly bigint[] = [
  64n * KIB,
  256n * KIB,
  MIB,
  4n * MIB,
  16n * MIB,
  64n * MIB,
  0xff_ff_ff_ff_ff_ff_ff_ffn,
];

/** Buckets without a partition are left out. */
function histogram(partitionBytes: readonly number[]): PartitionBytesBucket[] {
  const counts = BOUNDS.map(() => 0);
  for (const bytes of partitionBytes) {
    const at = BOUNDS.findIndex((bound) => BigInt(bytes) <= bound);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return BOUNDS.map((upperBoundBytes, at) => ({
    upperBoundBytes,
    partitionCount: counts[at] ?? 0,
  })).filter(({ partitionCount }) => partitionCount > 0);
}
