/**
 * Tables divided by the values of a column: each task has a span of them. Rows with the same value are in the same
 * task then, and nothing had to be sent for it. It pays where a file has its rows in about that order, as far as its
 * statistics say; how close the order is decides how much is read, never which rows come out.
 */
import type { ClusterGroup } from '../physical/table.ts';

/** Row groups that two tasks look at are counted twice: so much more may be looked at. */
const LOOKED_AT_MAX = 1.5;
/** How much more than its share one task may have. */
const SHARE_MAX = 1.5;

type Groups = readonly ClusterGroup[];

export class RangePartitioning {
  #bounds: readonly number[];
  #tables: readonly Groups[];
  /** Of the largest table. */
  #rows: number;
  /** The one that this has become a part of. */
  #joined: RangePartitioning | null = null;

  private constructor(bounds: readonly number[], groups: Groups) {
    this.#bounds = bounds;
    this.#tables = [groups];
    this.#rows = rowsIn(groups);
  }

  /** Null when the values do not divide the rows into as many fair shares. */
  static of(groups: Groups, parts: number): RangePartitioning | null {
    const bounds = balancedBounds(groups, parts);
    return bounds !== null && suits(bounds, groups) ? new RangePartitioning(bounds, groups) : null;
  }

  /** Task i has the values from bound i - 1 to before bound i. */
  get bounds(): readonly number[] {
    return this.#root.#bounds;
  }

  /** Equal values are in the same task of both. */
  isSame(other: RangePartitioning): boolean {
    return this.#root === other.#root;
  }

  /** Whether all tables of both could go by the same bounds. */
  canUnify(other: RangePartitioning): boolean {
    return this.isSame(other) || this.#sharedBounds(other) !== null;
  }

  /** From now on they do, with everything that is divided by either. */
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

  /** Those of the larger table or else of the smaller, if all can live with them. Each suits its own tables. */
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

/** Where row groups begin, so that about as many rows lie between any two bounds; null when there are too few. */
function balancedBounds(groups: Groups, parts: number): readonly number[] | null {
  const total = rowsIn(groups);
  const sorted = groups.toSorted((a, b) => a.min - b.min);
  const bounds: number[] = [];
  let before = 0;
  for (const { min, rows } of sorted) {
    const wanted = ((bounds.length + 1) * total) / parts;
    // The place is here, or nearer to here than to where the next group begins.
    if (bounds.length < parts - 1 && before + rows / 2 >= wanted && before > 0) bounds.push(min);
    before += rows;
  }
  const isGrowing = bounds.every((bound, at) => at === 0 || bound > (bounds[at - 1] as number));
  return bounds.length === parts - 1 && isGrowing ? bounds : null;
}

/** A table that is divided so gives each task a fair share and has few row groups read by several. */
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

/** The task that a value belongs to: how many bounds are not above it. By halving. */
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
