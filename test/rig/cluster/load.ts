import { deferred } from '../../../src/kit/index.ts';
import type { Deferred } from '../../../src/kit/index.ts';
import type { TestClient } from './client.ts';
import { within } from './deadline.ts';

/** Jobs that a number of clients submit, each one after the other, whatever happens meanwhile. */
export class Load {
  /** All are acknowledged. */
  readonly done: Promise<readonly string[]>;
  readonly #marks: Map<number, Deferred<void>> = new Map();
  readonly #ids: string[] = [];

  constructor(client: TestClient, options: { jobs: number; lanes?: number; tasks?: object[] }) {
    const { jobs, lanes = 6, tasks = [{ id: 'a', executor: 'note' }] } = options;
    let left = jobs;
    const lane = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        this.#add((await client.submit({ tasks })).id);
      }
    };
    const all = Promise.all(Array.from({ length: lanes }, lane));
    this.done = all.then(() => this.#ids);
    // Whoever waits hears of it; the test may still be busy elsewhere.
    this.done.catch(() => {});
  }

  get ids(): readonly string[] {
    return this.#ids;
  }

  /** Resolves when so many are acknowledged. */
  reached(count: number): Promise<void> {
    const mark = this.#marks.get(count) ?? deferred();
    this.#marks.set(count, mark);
    if (this.#ids.length >= count) mark.resolve();
    const early = this.done.then(() => mark.promise);
    return within(60_000, Promise.race([mark.promise, early]), () => {
      return `${count} jobs acknowledged; so far ${this.#ids.length}`;
    });
  }

  #add(id: string): void {
    this.#ids.push(id);
    this.#marks.get(this.#ids.length)?.resolve();
  }
}
