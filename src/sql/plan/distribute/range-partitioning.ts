/**
 * Range partitioning of tables by a clustered column: each task has a range of its values. Rows with the same value
 * are in the same task without an exchange. How well a table is clustered, by the statistics of its files, decides
 * how much is read, never which rows come out.
 */
import type { ClusterGroup } from '../physical/table.ts';

/** Row groups at a bound are read by two tasks. In total at most this factor more rows may be read. */
const LOOKED_AT_MAX = 1.5;
/** How much more than its share one task may have. */
const SHARE_MAX = 1.5;

type Groups = readonly ClusterGroup[];

export class RangePartitioning {
  #bounds: readonly number[];
  #tables: readonly Groups[];
  /** Of the largest table. */
  #rows: number;
  /** The partitioning that this one was unified into. */
  #joined: RangePartitioning | null = null;

  private constructor(bounds: readonly number[], groups: Groups) {
    this.#bounds = bounds;
    this.#tables = [groups];
    this.#rows = rowsIn(groups);
  }

  /** Returns null if the values do not split the rows into `parts` balanced ranges. */
  static of(groups: Groups, parts: number): RangePartitioning | null {
    const bounds = balancedBounds(groups, parts);
    return bounds !== null && suits(bounds, groups) ? new RangePartitioning(bounds, groups) : null;
  }

  /** Task i has the values from bound i - 1 up to but not including bound i. */
  get bounds(): readonly number[] {
    return this.#root.#bounds;
  }

  /** Whether equal values are in the same task of both. */
  isSame(other: RangePartitioning): boolean {
    return this.#root === other.#root;
  }

  /** Whether the tables of both could share one list of bounds. */
  canUnify(other: RangePartitioning): boolean {
    return this.isSame(other) || this.#sharedBounds(other) !== null;
  }

  /** Makes the tables of both, and everything partitioned by either, share one list of bounds. */
  unify(other: RangePartitioning): void {
    if (this.isSame(other)) return;
    const bounds = this.#sharedBounds(other);
    if (bounds === null) return;
    const [root, joined] = [this.#root, other.#root];
    root.#bounds = bounds;
    root.#tables = [...root.#tables, ...joined.#tables];
    root.#rows = Math.max(root.#rows, joined.#rows);
    joined.#joined = root;
  }

  /**
   * The bounds of the larger table, or else those of the smaller one, if they suit all tables. Each list suits its
   * own tables.
   */
  #sharedBounds(other: RangePartitioning): readonly number[] | null {
    const [one, two] = [this.#root, other.#root];
    const [large, small] = one.#rows >= two.#rows ? [one, two] : [two, one];
    // A table that is joined with itself.
    if (large.#bounds.every((bound, at) => bound === small.#bounds[at])) return large.#bounds;
    if (small.#tables.every((groups) => suits(large.#bounds, groups))) return large.#bounds;
    return large.#tables.every((groups) => suits(small.#bounds, groups)) ? small.#bounds : null;
  }

  get #root(): RangePartitioning {
    return this.#joined === null ? this : this.#joined.#root;
  }
}

function rowsIn(groups: Groups): number {
  return groups.reduce((sum, { rows }) => sum + rows, 0);
}

/** Values at which row groups begin, with about as many rows between any two bounds; null if there are too few. */
function balancedBounds(groups: Groups, parts: number): readonly number[] | null {
  const total = rowsIn(groups);
  const sorted = groups.toSorted((a, b) => a.min - b.min);
  const bounds: number[] = [];
  let before = 0;
  for (const { min, rows } of sorted) {
    const wanted = ((bounds.length + 1) * total) / parts;
    // The ideal position is in this row group, nearer to its beginning than to its end.
    if (bounds.length < parts - 1 && before + rows / 2 >= wanted && before > 0) bounds.push(min);
    before += rows;
  }
  const isGrowing = bounds.every((bound, at) => at === 0 || bound > (bounds[at - 1] as number));
  return bounds.length === parts - 1 && isGrowing ? bounds : null;
}

/** Whether these bounds give each task a balanced share of the table, with few row groups read by several tasks. */
function suits(bounds: readonly number[], groups: Groups): boolean {
  const total = rowsIn(groups);
  const shares = Array.from({ length: bounds.length + 1 }, () => 0);
  let lookedAt = 0;
  for (const { min, max, rows } of groups) {
    const [first, last] = [taskOfValue(bounds, min), taskOfValue(bounds, max)];
    lookedAt += rows * (last - first + 1);
    for (let task = first; task <= last; task += 1) {
      const from = Math.max(min, bounds[task - 1] ?? min);
      const to = Math.min(max + 1, bounds[task] ?? max + 1);
      shares[task] = (shares[task] ?? 0) + (rows * (to - from)) / (max - min + 1);
    }
  }
  const isFair = Math.max(...shares) <= (SHARE_MAX * total) / shares.length;
  return isFair && lookedAt <= LOOKED_AT_MAX * total;
}

/** Returns the task that has a value: the number of bounds that are not above it, by binary search. */
export function taskOfValue(bounds: readonly number[], value: number): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bounds[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
