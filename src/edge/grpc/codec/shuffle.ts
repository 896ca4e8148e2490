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
} from '../../../scheduler/contract/index.ts';
import { requiredText, safeNumber, wireCount, wireNumber } from './values.ts';

type WireKey = Pick<RegisterMapOutputRequest, 'queryId' | 'stageId' | 'mapTask' | 'attempt'>;

function toWireKey({ query, stage, mapTask, attempt }: MapOutputKey): WireKey {
  return {
    queryId: query,
    stageId: wireNumber(stage, 'stage_id'),
    mapTask: wireNumber(mapTask, 'map_task'),
    attempt: wireCount(attempt, 'attempt'),
  };
}

function fromWireKey({ queryId, stageId, mapTask, attempt }: WireKey): MapOutputKey {
  return {
    query: requiredText<JobId>(queryId, 'query_id'),
    stage: safeNumber(stageId, 'stage_id'),
    mapTask: safeNumber(mapTask, 'map_task'),
    attempt,
  };
}

export function toWireMapOutput(output: MapOutput): RegisterMapOutputRequest {
  return {
    ...toWireKey(output),
    partitions: output.partitions.map(toWirePartition),
    layoutVersion: wireCount(output.layoutVersion, 'layout_version'),
    layoutFingerprint: output.layoutFingerprint,
  };
}

export function fromWireMapOutput(wire: RegisterMapOutputRequest): MapOutput {
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
