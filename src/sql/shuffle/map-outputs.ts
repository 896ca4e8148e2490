/** The map outputs that are registered here, and how far each partition may be read. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { MapOutput, MapOutputKey, MapPartition } from '../../scheduler/contract/index.ts';

interface Entry {
  readonly layoutVersion: number;
  readonly layoutFingerprint: bigint;
  /** Committed here: registrations by others change nothing. */
  readonly isSealed: boolean;
  readonly partitions: Map<number, MapPartition>;
}

/** A limit, because others could register without end. */
const FOREIGN_MAX = 10_000;
const PARTITIONS_MAX = 100_000;

export type RegisteredOutput = Pick<MapOutput, 'layoutVersion' | 'layoutFingerprint'> & {
  partition(partition: number): MapPartition | undefined;
};

export class MapOutputs {
  readonly #queries: Map<JobId, Map<string, Entry>> = new Map();
  #foreign = 0;

  /**
   * Accepts registrations from anywhere, any number of times: one with an older epoch or another layout changes
   * nothing.
   */
  register(output: MapOutput): void {
    if (output.partitions.length > PARTITIONS_MAX) {
      throw new MillraceError({
        code: 'too_large',
        what: `${output.partitions.length} partitions are more than the limit of ${PARTITIONS_MAX} per output.`,
      });
    }
    const known = this.#entry(output);
    if (known?.isSealed === true || isStale(output, known)) return;
    if (known === undefined || known.layoutVersion < output.layoutVersion) {
      if (known === undefined) this.#makeRoom();
      return this.#set(output, false);
    }
    for (const partition of output.partitions) put(known.partitions, partition);
  }

  /** Registers an output that was committed here. */
  seal(output: MapOutput): void {
    if (this.#entry(output)?.isSealed === false) this.#foreign -= 1;
    this.#set(output, true);
  }

  find(key: MapOutputKey): RegisteredOutput | null {
    const entry = this.#entry(key);
    if (entry === undefined) return null;
    const { layoutVersion, layoutFingerprint, partitions } = entry;
    return { layoutVersion, layoutFingerprint, partition: (number) => partitions.get(number) };
  }

  forget(query: JobId): void {
    for (const { isSealed } of this.#queries.get(query)?.values() ?? []) {
      if (!isSealed) this.#foreign -= 1;
    }
    this.#queries.delete(query);
  }

  forgetOne(key: MapOutputKey): void {
    if (this.#entry(key)?.isSealed === false) this.#foreign -= 1;
    this.#queries.get(key.query)?.delete(textOf(key));
  }

  #entry(key: MapOutputKey): Entry | undefined {
    return this.#queries.get(key.query)?.get(textOf(key));
  }

  #set(output: MapOutput, isSealed: boolean): void {
    const partitions = new Map<number, MapPartition>();
    for (const partition of output.partitions) put(partitions, partition);
    const { layoutVersion, layoutFingerprint } = output;
    const entries = this.#queries.get(output.query) ?? new Map<string, Entry>();
    this.#queries.set(output.query, entries);
    entries.set(textOf(output), { layoutVersion, layoutFingerprint, isSealed, partitions });
  }

  #makeRoom(): void {
    if (this.#foreign >= FOREIGN_MAX) {
      throw new MillraceError({
        code: 'overloaded',
        what: `More than ${FOREIGN_MAX} map outputs are registered here by other nodes.`,
      });
    }
    this.#foreign += 1;
  }
}

function isStale(output: MapOutput, known: Entry | undefined): boolean {
  if (known === undefined || output.layoutVersion > known.layoutVersion) return false;
  return (
    output.layoutVersion < known.layoutVersion ||
    output.layoutFingerprint !== known.layoutFingerprint
  );
}

function put(partitions: Map<number, MapPartition>, given: MapPartition): void {
  const partition = sane(given);
  const known = partitions.get(partition.partition);
  if (known !== undefined && known.epoch > partition.epoch) return;
  const isSame = known?.epoch === partition.epoch;
  partitions.set(partition.partition, isSame ? sane(merged(known, partition)) : partition);
}

/** No more can be read than there is, and a finished partition can be read to its end. */
function sane(partition: MapPartition): MapPartition {
  const { bytes, committedOffset, isFinalized } = partition;
  return { ...partition, committedOffset: isFinalized ? bytes : Math.min(committedOffset, bytes) };
}

function merged(one: MapPartition, other: MapPartition): MapPartition {
  return {
    partition: one.partition,
    epoch: one.epoch,
    bytes: Math.max(one.bytes, other.bytes),
    rows: Math.max(one.rows, other.rows),
    batches: Math.max(one.batches, other.batches),
    committedOffset: Math.max(one.committedOffset, other.committedOffset),
    isFinalized: one.isFinalized || other.isFinalized,
  };
}

function textOf({ stage, mapTask, attempt }: MapOutputKey): string {
  return `${stage}.${mapTask}.${attempt}`;
}
