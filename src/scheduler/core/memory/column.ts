/**
 * One number a task, in a typed array that grows by doubling. A million tasks are a dozen arrays
 * for the garbage collector, not a million objects.
 *
 * Each kind of array has a class of its own: code that reads one kind only is several times as quick as code that reads all.
 */
import { broken } from '../errors.ts';

export interface Column {
  /** 0 where nothing was written yet. */
  get(slot: number): number;
  /** A typed array cuts off what does not fit: a count below zero, or a fence beyond its range, would come back as
   * another number. So that is refused. */
  set(slot: number, value: number): void;
}

const FIRST_LENGTH = 64;

interface Cells<Self> {
  readonly length: number;
  set(other: Self): void;
}

function wider<C extends Cells<C>>(cells: C, slot: number, make: new (length: number) => C): C {
  let { length } = cells;
  while (length <= slot) length *= 2;
  const wide = new make(length);
  wide.set(cells);
  return wide;
}

export class ByteColumn implements Column {
  #cells: Uint8Array = new Uint8Array(FIRST_LENGTH);

  get(slot: number): number {
    return this.#cells[slot] ?? 0;
  }

  set(slot: number, value: number): void {
    if (slot >= this.#cells.length) this.#cells = wider(this.#cells, slot, Uint8Array);
    this.#cells[slot] = value;
    if (this.#cells[slot] !== value) broken(`a column cannot hold ${value}`);
  }
}

export class ShortColumn implements Column {
  #cells: Uint16Array = new Uint16Array(FIRST_LENGTH);

  get(slot: number): number {
    return this.#cells[slot] ?? 0;
  }

  set(slot: number, value: number): void {
    if (slot >= this.#cells.length) this.#cells = wider(this.#cells, slot, Uint16Array);
    this.#cells[slot] = value;
    if (this.#cells[slot] !== value) broken(`a column cannot hold ${value}`);
  }
}

export class WordColumn implements Column {
  #cells: Uint32Array = new Uint32Array(FIRST_LENGTH);

  get(slot: number): number {
    return this.#cells[slot] ?? 0;
  }

  set(slot: number, value: number): void {
    if (slot >= this.#cells.length) this.#cells = wider(this.#cells, slot, Uint32Array);
    this.#cells[slot] = value;
    if (this.#cells[slot] !== value) broken(`a column cannot hold ${value}`);
  }
}

export class DoubleColumn implements Column {
  #cells: Float64Array = new Float64Array(FIRST_LENGTH);

  get(slot: number): number {
    return this.#cells[slot] ?? 0;
  }

  set(slot: number, value: number): void {
    if (slot >= this.#cells.length) this.#cells = wider(this.#cells, slot, Float64Array);
    this.#cells[slot] = value;
    if (this.#cells[slot] !== value) broken(`a column cannot hold ${value}`);
  }
}
