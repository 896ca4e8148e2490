/**
 * One number a task, in a typed array that grows by doubling. A million tasks are a dozen arrays
 * for the garbage collector, not a million objects.
 */
import { broken } from '../errors.ts';

type Cells = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export class Column {
  #cells: Cells;
  readonly #make: (length: number) => Cells;

  constructor(make: (length: number) => Cells) {
    this.#make = make;
    this.#cells = make(64);
  }

  /** 0 where nothing was written yet. */
  get(slot: number): number {
    return this.#cells[slot] ?? 0;
  }

  /** A typed array cuts off what does not fit: a count below zero, or a fence beyond its range, would come back as
   * another number. */
  set(slot: number, value: number): void {
    if (slot >= this.#cells.length) this.#grow(slot);
    this.#cells[slot] = value;
    if (this.#cells[slot] !== value) broken(`a column cannot hold ${value}`);
  }

  #grow(slot: number): void {
    let length = this.#cells.length;
    while (length <= slot) length *= 2;
    const wider = this.#make(length);
    wider.set(this.#cells);
    this.#cells = wider;
  }
}

export const bytes = (length: number): Cells => new Uint8Array(length);
export const shorts = (length: number): Cells => new Uint16Array(length);
export const words = (length: number): Cells => new Uint32Array(length);
export const doubles = (length: number): Cells => new Float64Array(length);
