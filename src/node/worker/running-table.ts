/**
 * Which of the held leases have a running handler, in memory that two threads share. The main thread writes it; the
 * heartbeat thread reads it even while a handler blocks the main thread. A message for every start would cost more
 * than many a task.
 */
export class RunningTable {
  readonly buffer: SharedArrayBuffer;
  /** A local number of a lease in each place, 0 where nothing runs. */
  readonly #places: Int32Array;
  readonly #free: number[] = [];

  constructor(given: number | SharedArrayBuffer) {
    this.buffer =
      typeof given === 'number'
        ? new SharedArrayBuffer(given * Int32Array.BYTES_PER_ELEMENT)
        : given;
    this.#places = new Int32Array(this.buffer);
    for (let place = this.#places.length - 1; place >= 0; place -= 1) this.#free.push(place);
  }

  /** Returns the place to leave again, null when every place is taken. */
  occupy(id: number): number | null {
    const place = this.#free.pop();
    if (place === undefined) return null;
    Atomics.store(this.#places, place, id);
    return place;
  }

  leave(place: number): void {
    Atomics.store(this.#places, place, 0);
    this.#free.push(place);
  }

  ids(): readonly number[] {
    const ids: number[] = [];
    for (let place = 0; place < this.#places.length; place += 1) {
      const id = Atomics.load(this.#places, place);
      if (id !== 0) ids.push(id);
    }
    return ids;
  }
}
