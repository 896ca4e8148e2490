/**
 * The outputs that workers have registered with the leader: what each attempt has written so far, and which node has it.
 * Only the holder of a task's lease may register, so there is at most one entry for each task. A new leader starts
 * empty, and asks for what it needs when a task is completed.
 */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { LAYOUT_VERSION } from '../../scheduler/contract/index.ts';
import type { MapOutput, MapOutputKey, MapPartition } from '../../scheduler/contract/index.ts';

/** Who runs the attempt. */
export interface OutputHolder {
  readonly fence: number;
  readonly attempt: number;
  readonly nodeId: string;
  /** HOST:PORT of the node's own services; null if it does not listen. */
  readonly address: string | null;
}

export interface RegisteredOutput extends OutputHolder {
  readonly layout: number;
  /** The partitions that the stage has. */
  readonly count: number;
  /** Those that are registered, by number. */
  readonly partitions: ReadonlyMap<number, MapPartition>;
}

export class RegisteredOutputs {
  readonly #queries: Map<JobId, Map<string, RegisteredOutput>> = new Map();

  /** `count`: the partitions that the stage has. The caller has checked that the holder runs this task. */
  register(output: MapOutput, holder: OutputHolder, count: number): void {
    checkLayout(output, count);
    const known = this.#entry(output);
    const isSame = known?.fence === holder.fence;
    const partitions = new Map(isSame ? known.partitions : []);
    for (const each of output.partitions) {
      const given = checked(each, count);
      partitions.set(given.partition, merged(partitions.get(given.partition), given));
    }
    const entries = this.#queries.get(output.query) ?? new Map<string, RegisteredOutput>();
    this.#queries.set(output.query, entries);
    entries.set(textOf(output), { ...holder, layout: LAYOUT_VERSION, count, partitions });
  }

  /** By fence, or without one by attempt. */
  find(key: MapOutputKey): RegisteredOutput | null {
    const entry = this.#entry(key);
    if (entry === undefined) return null;
    const isMeant = key.fence === 0 ? entry.attempt === key.attempt : entry.fence === key.fence;
    return isMeant ? entry : null;
  }

  /** All of a query, by `stage.task`. */
  of(query: JobId): ReadonlyMap<string, RegisteredOutput> {
    return this.#queries.get(query) ?? new Map<string, RegisteredOutput>();
  }

  queries(): readonly JobId[] {
    return [...this.#queries.keys()];
  }

  forget(query: JobId): void {
    this.#queries.delete(query);
  }

  #entry(key: MapOutputKey): RegisteredOutput | undefined {
    return this.#queries.get(key.query)?.get(textOf(key));
  }
}

function checkLayout({ layoutVersion, layoutFingerprint }: MapOutput, count: number): void {
  if (layoutVersion !== 0 && layoutVersion !== LAYOUT_VERSION)
    throw superseded(`layout ${layoutVersion}`, `layout ${LAYOUT_VERSION}`);
  if (layoutFingerprint !== 0n && layoutFingerprint !== BigInt(count))
    throw superseded(`a layout of ${layoutFingerprint} partitions`, `${count} partitions`);
}

/** No more can be read than there is, and a finished partition can be read to its end. */
function checked(given: MapPartition, count: number): MapPartition {
  const { partition, bytes, isFinalized, segments } = given;
  if (partition >= count) refuse(given, `The stage has ${count} partitions.`);
  const inSegments = segments.reduce((sum, [length]) => sum + length, 0);
  if (segments.length > 0 && inSegments !== bytes)
    refuse(given, `Its segments have ${inSegments} bytes, not ${bytes}.`);
  const committedOffset = isFinalized ? bytes : given.committedOffset;
  if (committedOffset > bytes) refuse(given, `Only ${bytes} bytes are written.`);
  return { ...given, committedOffset };
}

/** A stream only grows, until a newer epoch begins it anew. */
function merged(known: MapPartition | undefined, given: MapPartition): MapPartition {
  if (known === undefined || given.epoch > known.epoch) return given;
  if (given.epoch < known.epoch) throw superseded(`epoch ${given.epoch}`, `epoch ${known.epoch}`);
  if (known.isFinalized && (!given.isFinalized || given.bytes !== known.bytes))
    refuse(given, 'It is registered as finished, with other contents.');
  if (given.committedOffset < known.committedOffset || given.bytes < known.bytes)
    refuse(
      given,
      `${known.committedOffset} of its ${known.bytes} bytes are registered as committed.`,
    );
  return given;
}

function refuse({ partition, epoch }: MapPartition, why: string): never {
  throw new MillraceError({
    code: 'conflict',
    what: `Partition ${partition} cannot be registered like this. ${why}`,
    todo: `Register what is written, or begin it anew with an epoch above ${epoch}.`,
  });
}

function superseded(given: string, here: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The registration is about ${given}, but the leader has ${here}.`,
  });
}

function textOf({ stage, mapTask }: MapOutputKey): string {
  return `${stage}.${mapTask}`;
}
