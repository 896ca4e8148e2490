/** Messages of the shuffle service. */
import type { JobId } from '../../../scheduler/core/index.ts';
import type {
  FetchShufflePartitionRequest,
  MapOutputPartition,
  RegisterMapOutputRequest,
} from '../gen/millrace/v1/shuffle.ts';
import type {
  MapOutput,
  MapOutputKey,
  MapPartition,
  PartitionRange,
  Session,
} from '../../../scheduler/contract/index.ts';
import { toWireSession } from './session.ts';
import { refuse, requiredText, safeNumber, wireCount, wireNumber } from './values.ts';

/** More than any stage has. */
const PARTITIONS_MAX = 100_000;

type WireKey = Pick<
  RegisterMapOutputRequest,
  'queryId' | 'stageId' | 'mapTask' | 'attempt' | 'fence'
>;

function toWireKey({ query, stage, mapTask, attempt, fence }: MapOutputKey): WireKey {
  return {
    queryId: query,
    stageId: wireNumber(stage, 'stage_id'),
    mapTask: wireNumber(mapTask, 'map_task'),
    attempt: wireCount(attempt, 'attempt'),
    fence: wireNumber(fence, 'fence'),
  };
}

function fromWireKey({ queryId, stageId, mapTask, attempt, fence }: WireKey): MapOutputKey {
  return {
    query: requiredText<JobId>(queryId, 'query_id'),
    stage: safeNumber(stageId, 'stage_id'),
    mapTask: safeNumber(mapTask, 'map_task'),
    attempt,
    fence: safeNumber(fence, 'fence'),
  };
}

export function toWireMapOutput(output: MapOutput, by: Session): RegisterMapOutputRequest {
  return {
    ...toWireKey(output),
    ...toWireSession(by),
    partitions: output.partitions.map(toWirePartition),
    layoutVersion: wireCount(output.layoutVersion, 'layout_version'),
    layoutFingerprint: output.layoutFingerprint,
  };
}

export function fromWireMapOutput(wire: RegisterMapOutputRequest): MapOutput {
  if (wire.partitions.length > PARTITIONS_MAX)
    refuse('partitions', `${wire.partitions.length} are too many.`);
  return {
    ...fromWireKey(wire),
    partitions: wire.partitions.map(fromWirePartition),
    layoutVersion: wire.layoutVersion,
    layoutFingerprint: wire.layoutFingerprint,
  };
}

function toWirePartition(partition: MapPartition): MapOutputPartition {
  return {
    reducePartition: wireCount(partition.partition, 'reduce_partition'),
    bytes: wireNumber(partition.bytes, 'bytes'),
    rows: wireNumber(partition.rows, 'rows'),
    batches: wireNumber(partition.batches, 'batches'),
    streamEpoch: wireCount(partition.epoch, 'stream_epoch'),
    committedOffset: wireNumber(partition.committedOffset, 'committed_offset'),
    finalized: partition.isFinalized,
    segments: partition.segments.map(([bytes, crc32]) => ({
      bytes: wireNumber(bytes, 'segments/bytes'),
      crc32: wireCount(crc32, 'segments/crc32'),
    })),
  };
}

function fromWirePartition(wire: MapOutputPartition): MapPartition {
  return {
    partition: wire.reducePartition,
    bytes: safeNumber(wire.bytes, 'bytes'),
    rows: safeNumber(wire.rows, 'rows'),
    batches: safeNumber(wire.batches, 'batches'),
    epoch: wire.streamEpoch,
    committedOffset: safeNumber(wire.committedOffset, 'committed_offset'),
    isFinalized: wire.finalized,
    segments: wire.segments.map(({ bytes, crc32 }) => [safeNumber(bytes, 'segments/bytes'), crc32]),
  };
}

export function toWireRange(range: PartitionRange): FetchShufflePartitionRequest {
  return {
    ...toWireKey(range),
    reducePartition: wireCount(range.partition, 'reduce_partition'),
    startOffset: wireNumber(range.startOffset, 'start_offset'),
    maxBytes: wireNumber(range.maxBytes, 'max_bytes'),
    layoutVersion: wireCount(range.layoutVersion, 'layout_version'),
    minStreamEpoch: wireCount(range.minEpoch, 'min_stream_epoch'),
  };
}

export function fromWireRange(wire: FetchShufflePartitionRequest): PartitionRange {
  return {
    ...fromWireKey(wire),
    partition: wire.reducePartition,
    startOffset: safeNumber(wire.startOffset, 'start_offset'),
    maxBytes: safeNumber(wire.maxBytes, 'max_bytes'),
    layoutVersion: wire.layoutVersion,
    minEpoch: wire.minStreamEpoch,
  };
}
