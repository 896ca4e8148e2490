/** Rows in the order in which they came first, one for each key: a later one takes the place of the one before. */
import { taskOrder } from '../ids.ts';
import { PagedMap } from './paged-map.ts';

/** By the number of a task within that of its job. Nearly all are the first task of theirs. */
export class TaskMap<V> {
  readonly #first: PagedMap<number, V> = new PagedMap();
  readonly #others: Map<number, V> = new Map();

  get size(): number {
    return this.#first.size + this.#others.size;
  }

  get(jobNo: number, taskNo: number): V | undefined {
    return taskNo === 0 ? this.#first.get(jobNo) : this.#others.get(taskOrder(jobNo, taskNo));
  }

  set(jobNo: number, taskNo: number, value: V): void {
    if (taskNo === 0) this.#first.set(jobNo, value);
    else this.#others.set(taskOrder(jobNo, taskNo), value);
  }

  delete(jobNo: number, taskNo: number): boolean {
    return taskNo === 0 ? this.#first.delete(jobNo) : this.#others.delete(taskOrder(jobNo, taskNo));
  }

  clear(): void {
    this.#first.clear();
    this.#others.clear();
  }
}

export class JobList<Row extends { readonly no: number }> {
  readonly rows: Row[] = [];
  readonly #places: PagedMap<number, number> = new PagedMap();

  has(no: number): boolean {
    return this.#places.has(no);
  }

  put(row: Row): void {
    const at = this.#places.get(row.no);
    if (at === undefined) this.#places.set(row.no, this.rows.push(row) - 1);
    else this.rows[at] = row;
  }
}

/** Those of one batch: of a large job they come side by side. */
export class TaskList<Row> {
  readonly rows: Row[] = [];
  /** By the numbers of the jobs. */
  readonly #firsts: PagedMap<number, number> = new PagedMap();
  /** By `taskOrder`. */
  readonly #others: PagedMap<number, number> = new PagedMap();

  has(jobNo: number, taskNo: number): boolean {
    return this.#placeOf(jobNo, taskNo) !== undefined;
  }

  get(jobNo: number, taskNo: number): Row | undefined {
    const at = this.#placeOf(jobNo, taskNo);
    return at === undefined ? undefined : this.rows[at];
  }

  put(jobNo: number, taskNo: number, row: Row): void {
    const at = this.#placeOf(jobNo, taskNo);
    if (at !== undefined) this.rows[at] = row;
    else if (taskNo === 0) this.#firsts.set(jobNo, this.rows.push(row) - 1);
    else this.#others.set(taskOrder(jobNo, taskNo), this.rows.push(row) - 1);
  }

  #placeOf(jobNo: number, taskNo: number): number | undefined {
    return taskNo === 0 ? this.#firsts.get(jobNo) : this.#others.get(taskOrder(jobNo, taskNo));
  }
}

/** Rows of which a batch seldom has any, by a key; null for one that goes. Most batches never make the map. */
export class RowsByKey<K, Row> {
  #all: Map<K, Row | null> | null = null;

  get size(): number {
    return this.#all?.size ?? 0;
  }

  has(key: K): boolean {
    return this.#all?.has(key) ?? false;
  }

  set(key: K, row: Row | null): void {
    this.#all ??= new Map();
    this.#all.set(key, row);
  }

  get rows(): Row[] {
    return this.#all === null ? [] : [...this.#all.values()].filter((row) => row !== null);
  }

  /** The keys of those that go. */
  get gone(): K[] {
    if (this.#all === null) return [];
    return [...this.#all].filter(([, row]) => row === null).map(([key]) => key);
  }
}
