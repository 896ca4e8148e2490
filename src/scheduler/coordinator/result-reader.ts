/**
 * Results for one answer, read as they are needed: what is asked for later is read ahead, but never
 * so much that many large ones together would be more than the leader can hold.
 */
import type { Json, TaskError, TaskRef, TaskState } from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import type { PayloadCache } from './payload-cache.ts';

/** How a task has ended, or how far it is. */
export interface Outcome {
  readonly state: TaskState;
  readonly error: TaskError | null;
  /** JSON text; null when there is none or it is null. */
  readonly result: string | null;
}

export type Outcomes = ReadonlyMap<string, Outcome>;

/** Tasks in the first read; how large their results are decides about the next. */
const FIRST_READ = 64;
const READ_MAX = 4_096;
/** Characters that one read should bring, about. */
const READ_CHARACTERS = 16 * 1024 * 1024;

export class ResultReader {
  readonly #store: Store;
  readonly #shard: number;
  readonly #recent: PayloadCache['results'];
  /** Undefined for a task that the store does not know. */
  readonly #read: Map<string, Outcome | undefined> = new Map();
  /** What will be asked for, in that order. */
  readonly #planned: Map<string, TaskRef> = new Map();
  readonly #parsed: Map<string, Json> = new Map();
  #next = FIRST_READ;
  #characters = 0;

  constructor(store: Store, shard: number, recent: PayloadCache['results']) {
    this.#store = store;
    this.#shard = shard;
    this.#recent = recent;
  }

  /** Characters of all results that are held here. */
  get characters(): number {
    return this.#characters;
  }

  /** The text of that task's result, parsed: many tasks of one answer take parts of the same large one. */
  parsed(ref: TaskRef, text: string): Json {
    const key = refKey(ref.jobNo, ref.taskNo);
    const known = this.#parsed.get(key);
    if (known !== undefined) return known;
    const value = JSON.parse(text) as Json;
    this.#parsed.set(key, value);
    return value;
  }

  plan(refs: readonly TaskRef[]): void {
    for (const ref of refs) {
      const key = refKey(ref.jobNo, ref.taskNo);
      if (!this.#read.has(key)) this.#planned.set(key, ref);
    }
  }

  /** By `refKey`; null when the results are longer than that together. */
  async read(refs: readonly TaskRef[], charactersMax: number): Promise<Outcomes | null> {
    const found = new Map<string, Outcome>();
    let characters = 0;
    for (const ref of refs) {
      const key = refKey(ref.jobNo, ref.taskNo);
      if (found.has(key)) continue;
      if (!this.#read.has(key)) await this.#readOn(key, ref);
      const outcome = this.#read.get(key);
      if (outcome === undefined) continue;
      found.set(key, outcome);
      characters += outcome.result?.length ?? 0;
      if (characters <= charactersMax) continue;
      for (const rest of refs) this.#planned.delete(refKey(rest.jobNo, rest.taskNo));
      return null;
    }
    return found;
  }

  /** This one, and as many of the planned ones as go with it. */
  async #readOn(key: string, ref: TaskRef): Promise<void> {
    const taken = new Map([[key, ref]]);
    for (const [each, planned] of this.#planned) {
      if (taken.size >= this.#next) break;
      taken.set(each, planned);
    }
    for (const each of taken.keys()) this.#planned.delete(each);
    const missing: TaskRef[] = [];
    for (const [each, wanted] of taken) {
      const known = this.#recent.get(wanted);
      // Only a task that has succeeded has a result. A null one is not kept: the row must say it.
      if (typeof known === 'string') {
        this.#keep(each, { state: 'succeeded', error: null, result: known });
      } else missing.push(wanted);
    }
    if (missing.length > 0) await this.#readFromStore(missing);
  }

  async #readFromStore(refs: readonly TaskRef[]): Promise<void> {
    const before = this.#characters;
    const [bodies, rows] = await Promise.all([
      this.#store.results(this.#shard, refs),
      this.#store.taskRows(this.#shard, refs),
    ]);
    for (const { jobNo, taskNo } of refs) {
      const key = refKey(jobNo, taskNo);
      const row = rows.get(key);
      if (row === undefined) this.#read.set(key, undefined);
      else {
        const { state, error } = row;
        const result = state === 'succeeded' ? (bodies.get(key) ?? null) : null;
        this.#keep(key, { state, error, result });
      }
    }
    const each = (this.#characters - before) / refs.length + 1;
    this.#next = Math.max(1, Math.min(READ_MAX, Math.floor(READ_CHARACTERS / each)));
  }

  #keep(key: string, outcome: Outcome): void {
    this.#read.set(key, outcome);
    this.#characters += outcome.result?.length ?? 0;
  }
}
