/**
 * The task that decides how the scans of a stage are filtered. The leader completes it when all stages have ended whose
 * keys it needs. Its result is stored like that of every task, so a new leader and a recomputed task use the same
 * filters.
 */
import { quotedText } from '../logical/quote.ts';
import type { Json } from '../../../scheduler/core/index.ts';
import { mergedBits, shareOfBits, type KeyBits } from './key-bits.ts';
import type { RuntimeFilter } from '../physical/plan.ts';
import type { KeySummary, PartitionInfo } from '../physical/task.ts';

/** Its input. */
export interface FilterTask {
  readonly filters: readonly FilterKeys[];
}

/** A filter, and what is known of its keys. */
export interface FilterKeys {
  readonly filter: RuntimeFilter;
  /** For each task of the stage that has the keys: its partitions, and all that it has reported; null for nothing. */
  readonly parts: readonly (readonly Pick<PartitionInfo, 'rows'>[])[];
  readonly keys: readonly (readonly (KeySummary | null)[] | null)[];
  /** The keys of this filter among these. */
  readonly place: number;
}

/** Its result. */
export interface FilterDecision {
  /** By relation: a condition over the columns of the scan. Absent if there is none. */
  readonly filters: Readonly<Record<string, string>>;
  /** For each filter of the plan: what it was made from. */
  readonly made: readonly MadeFilter[];
}

export interface MadeFilter {
  readonly name: string;
  /** The stage that has the keys. */
  readonly from: number;
  /** Rows of that stage. */
  readonly rows: number;
  readonly by: FilterKind;
  /** How many keys there are, if they are listed. */
  readonly keys: number | null;
}

/** `none`: the rows are not filtered, since the keys were not reported. `empty`: there are no keys. */
type FilterKind = 'none' | 'empty' | 'range' | 'list' | 'bitmap';

export interface FilterOutcome {
  readonly result: string;
  readonly detail: Readonly<Record<string, number>>;
  readonly done: readonly never[];
}

/** `input` was made here (`queryJob`), so its shape is trusted; the results in it were checked when they came. */
export function decideFilters(input: Json): FilterOutcome {
  const { filters } = input as unknown as FilterTask;
  const byRelation = new Map<string, string[]>();
  let bitChars = 0;
  const made = filters.map(({ filter, parts, keys, place }): MadeFilter => {
    const { relation, name, keys: of } = filter;
    const rows = parts.flat().reduce((sum, part) => sum + part.rows, 0);
    const own = keys.map((reported) => reported?.[place] ?? null);
    const merged = mergedKeys(own, parts);
    const about = { name, from: of.stage, rows };
    if (merged === null) return { ...about, by: 'none', keys: null };
    const { values, bounds } = merged;
    const bits = bitChars < BITS_CHARS_MAX ? merged.bits : null;
    bitChars += bits?.text.length ?? 0;
    const conditions = byRelation.get(relation) ?? [];
    byRelation.set(relation, [...conditions, `(${conditionOf(filter, { ...merged, bits })})`]);
    if (bounds.length === 0) return { ...about, by: 'empty', keys: 0 };
    if (values !== null) return { ...about, by: 'list', keys: values.length };
    return { ...about, by: bits === null ? 'range' : 'bitmap', keys: null };
  });
  const texts = [...byRelation].map(([relation, list]) => [relation, list.join(' AND ')] as const);
  const decision: FilterDecision = { filters: Object.fromEntries(texts), made };
  const keys = made.reduce((sum, each) => sum + (each.keys ?? 0), 0);
  const used = made.filter(({ by }) => by !== 'none').length;
  return {
    result: JSON.stringify(decision),
    detail: { filters: used, keys, rows: made.reduce((sum, { rows }) => sum + rows, 0) },
    done: [],
  };
}

/** The most keys that a filter lists, and how long they may be together. */
export const KEYS_MAX = 1_000;
export const KEY_CHARS_MAX: number = 32 * 1024;
/** No further bitmap is used for a stage that has this much of them: they are in the input of each of its tasks. */
const BITS_CHARS_MAX = 64 * 1024;
/** A bitmap with more of its bits set lets too much pass. */
const BITS_SHARE_MAX = 0.5;

interface MergedKeys {
  readonly hasNull: boolean;
  /** Of each task that has keys. */
  readonly bounds: readonly { readonly min: string; readonly max: string }[];
  /** Null if there are too many. */
  readonly values: readonly string[] | null;
  /** Null if they are listed, or too many for that as well. */
  readonly bits: KeyBits | null;
}

/** Null if a task with rows has not reported them. */
function mergedKeys(
  keys: readonly (KeySummary | null)[],
  parts: FilterKeys['parts'],
): MergedKeys | null {
  const bounds: { min: string; max: string }[] = [];
  const all = new Set<string>();
  const lists: { readonly values: readonly string[] | null; readonly bits: string | null }[] = [];
  let hasNull = false;
  for (const [at, summary] of keys.entries()) {
    if (parts[at]?.every(({ rows }) => rows === 0) === true) continue;
    if (summary === null) return null;
    const { min, max, values } = summary;
    hasNull ||= summary.hasNull;
    if (min === null || max === null) continue;
    bounds.push({ min, max });
    lists.push({ values, bits: summary.bits ?? null });
    for (const value of values ?? []) all.add(value);
  }
  const chars = [...all].reduce((sum, { length }) => sum + length, 0);
  const isShort = lists.every(({ values }) => values !== null);
  const isListed = isShort && all.size <= KEYS_MAX && chars <= KEY_CHARS_MAX;
  return {
    hasNull,
    bounds,
    values: isListed ? [...all] : null,
    bits: isListed ? null : bitsOf(lists),
  };
}

/** Null if a task has no bitmap, or if they are too full together. */
function bitsOf(lists: readonly { readonly bits: string | null }[]): KeyBits | null {
  const texts = lists.flatMap(({ bits }) => bits ?? []);
  if (texts.length === 0 || texts.length < lists.length) return null;
  const bits = mergedBits(texts);
  return shareOfBits(bits) > BITS_SHARE_MAX ? null : bits;
}

/**
 * The range first: DuckDB skips row groups by it. DuckDB itself compares the bounds of the tasks, as values of their
 * type.
 */
function conditionOf(
  { column, type, matchesNull }: RuntimeFilter,
  { hasNull, bounds, values, bits }: MergedKeys,
): string {
  const value = `c${column}`;
  const orNull = matchesNull && hasNull ? ` OR ${value} IS NULL` : '';
  if (bounds.length === 0) return orNull === '' ? 'false' : `${value} IS NULL`;
  const literal = (text: string): string => `CAST(${quotedText(text)} AS ${type})`;
  const distinct = (list: readonly string[]): string => [...new Set(list)].map(literal).join(', ');
  const low = `${value} >= least(${distinct(bounds.map(({ min }) => min))})`;
  const high = `${value} <= greatest(${distinct(bounds.map(({ max }) => max))})`;
  // One value alone is in the range already.
  const listed =
    values === null || values.length < 2 ? '' : ` AND ${value} IN (${distinct(values)})`;
  const hashed =
    bits === null
      ? ''
      : ` AND get_bit(CAST(from_base64('${bits.text}') AS BIT), CAST(hash(${value}) % ${bits.bits} AS INTEGER)) = 1`;
  const condition = `${low} AND ${high}${listed}${hashed}`;
  return orNull === '' ? condition : `(${condition})${orNull}`;
}
