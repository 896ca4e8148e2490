/** The settings of one query, under their public names. */
import { MillraceError, didYouMean } from '../../scheduler/core/index.ts';
import { PARTITIONS_MAX, SORT_THRESHOLD_BYTES } from '../plan/index.ts';
import type { Coalescing, PlanSettings } from '../plan/index.ts';

export interface QuerySettings {
  /** Null: by the number of fragments the cluster can run at the same time. */
  readonly shufflePartitions: number | null;
  readonly broadcastThresholdBytes: number;
  /** Null: more where distributing a query would give it no more processors. */
  readonly singleFragmentBytes: number | null;
  /** About what a task reads after an exchange: smaller neighbouring partitions are read by one task; 0 for never. */
  readonly targetPartitionBytes: number;
  /** A partition of more than so many times the median is split, where that is possible; 0 for never. */
  readonly skewFactor: number;
  /** A smaller partition is never split; each row counts 48 bytes beside those in which it is encoded. */
  readonly skewThresholdBytes: number;
  readonly sortThresholdBytes: number;
  /** Scans are filtered by the keys of a join's other side. 0: never, 1: where it seems to pay, 2: wherever possible. */
  readonly runtimeFilters: number;
  /** A side of a join is broadcast by its size, known before the other is exchanged. 0: never, 1: where it seems to pay, 2: wherever possible. */
  readonly adaptiveJoins: number;
  /** Per task; null: the share of a slot. */
  readonly memoryBytes: number | null;
  readonly timeoutMs: number | null;
  /** Null: the cluster's setting. */
  readonly maxAttempts: number | null;
  /** Null: the cluster's setting. 0: never. */
  readonly stragglerFactor: number | null;
}

const MIB = 2 ** 20;

export const defaultQuerySettings: QuerySettings = {
  shufflePartitions: null,
  broadcastThresholdBytes: 32 * MIB,
  singleFragmentBytes: null,
  targetPartitionBytes: 64 * MIB,
  skewFactor: 0,
  skewThresholdBytes: 32 * MIB,
  sortThresholdBytes: SORT_THRESHOLD_BYTES,
  runtimeFilters: 1,
  adaptiveJoins: 1,
  memoryBytes: null,
  timeoutMs: null,
  maxAttempts: null,
  stragglerFactor: null,
};

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** DuckDB cannot work with less, and fails in odd ways. */
const MEMORY_BYTES_MIN = 16 * MIB;
const YEAR_MS = 366 * 86_400_000;
const ATTEMPTS_MAX = 100;
const FACTOR_MAX = 1_000_000;

function boundsOf(name: keyof QuerySettings): Bounds {
  switch (name) {
    case 'shufflePartitions':
      return { min: 1, max: PARTITIONS_MAX };
    case 'broadcastThresholdBytes':
    case 'singleFragmentBytes':
    case 'targetPartitionBytes':
    case 'skewThresholdBytes':
    case 'sortThresholdBytes':
      return { min: 0, max: Number.MAX_SAFE_INTEGER };
    case 'runtimeFilters':
    case 'adaptiveJoins':
      return { min: 0, max: 2 };
    case 'memoryBytes':
      return { min: MEMORY_BYTES_MIN, max: Number.MAX_SAFE_INTEGER };
    case 'timeoutMs':
      return { min: 1, max: YEAR_MS };
    case 'maxAttempts':
      return { min: 1, max: ATTEMPTS_MAX };
    case 'skewFactor':
    case 'stragglerFactor':
      return { min: 0, max: FACTOR_MAX };
  }
}

const NAMES = Object.keys(defaultQuerySettings) as readonly (keyof QuerySettings)[];

/** Throws `bad_input` with the path of the field. */
export function readSettings(value: unknown): QuerySettings {
  if (value === undefined || value === null) return defaultQuerySettings;
  if (typeof value !== 'object' || Array.isArray(value)) refuse('', 'It must be an object.');
  const settings: Partial<Record<keyof QuerySettings, number>> = {};
  for (const [given, number] of Object.entries(value)) {
    const name = NAMES.find((known) => known === given);
    if (name === undefined) {
      const hint = didYouMean(given, NAMES);
      return refuse(`/${given.slice(0, 80)}`, `There is no such setting.${hint}`, NAMES.join(', '));
    }
    const { min, max } = boundsOf(name);
    if (
      typeof number !== 'number' ||
      !Number.isSafeInteger(number) ||
      number < min ||
      number > max
    ) {
      const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `from ${min} to ${max}`;
      return refuse(`/${name}`, `It must be a whole number, ${range}.`);
    }
    settings[name] = number;
  }
  return { ...defaultQuerySettings, ...settings };
}

/** How partitions are grouped and split once they are written; null for never. */
export function coalescing(settings: QuerySettings): Coalescing | null {
  const { targetPartitionBytes: targetBytes, skewFactor: factor, skewThresholdBytes } = settings;
  if (targetBytes === 0) return null;
  return factor === 0
    ? { targetBytes }
    : { targetBytes, skew: { factor, minBytes: skewThresholdBytes } };
}

/** Below this, distributing a query takes longer than running it. */
const SINGLE_BYTES = 22 * MIB;
/** Where one task has all processors: above this, its memory and what a repetition costs count for more. */
const SINGLE_BYTES_ALONE = 256 * MIB;

/** The processors that a query can have. */
export interface Processors {
  /** Fragments that the cluster can run at the same time, each on one of its own. */
  readonly slots: number;
  /** Of a single fragment that runs now. */
  readonly ofOne: number;
}

/** Those that decide between plans. */
export function planSettings(settings: QuerySettings, { slots, ofOne }: Processors): PlanSettings {
  const { shufflePartitions, broadcastThresholdBytes } = settings;
  const { sortThresholdBytes, runtimeFilters, adaptiveJoins } = settings;
  const isAlone = shufflePartitions === null && slots > 0 && ofOne >= slots;
  const singleFragmentBytes =
    settings.singleFragmentBytes ?? (isAlone ? SINGLE_BYTES_ALONE : SINGLE_BYTES);
  const partitions = shufflePartitions ?? Math.min(PARTITIONS_MAX, Math.max(1, slots));
  return {
    ...{ partitions, broadcastThresholdBytes, singleFragmentBytes },
    ...{ sortThresholdBytes, runtimeFilters, adaptiveJoins },
  };
}

function refuse(at: string, what: string, known?: string): never {
  throw new MillraceError({
    code: 'bad_input',
    path: `/settings${at}`,
    what,
    ...(known === undefined ? {} : { todo: `Known settings are ${known}.` }),
  });
}
