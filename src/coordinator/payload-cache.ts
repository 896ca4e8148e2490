import type { Batch, TaskRef } from '../core/index.ts';
import { refKey } from '../store/index.ts';

/** Texts of so many characters are kept, of each kind. */
const CHARACTERS_MAX = 32 * 1024 * 1024;

/**
 * Inputs and results that were committed a moment ago. Most tasks go out right after they came in, and
 * most results are wanted by the next task: neither has to be read back. What is not here is read
 * from the store, so forgetting costs a look and nothing else.
 */
export class PayloadCache {
  readonly inputs: RecentTexts = new RecentTexts();
  readonly results: RecentTexts = new RecentTexts();

  /** Called with each committed batch, in order. */
  learn(batch: Batch): void {
    for (const { jobNo, taskNo, input } of batch.specInserts) {
      this.inputs.set(refKey(jobNo, taskNo), input);
    }
    // A new run: its result will be another one.
    for (const { jobNo, taskNo } of batch.archived) this.results.forget(refKey(jobNo, taskNo));
    for (const { jobNo, taskNo, body } of batch.results) {
      this.results.set(refKey(jobNo, taskNo), body);
    }
  }
}

/** The youngest texts, up to a size; what is not known differs from what is known to be null. */
class RecentTexts {
  readonly #texts: Map<string, string | null> = new Map();
  #characters = 0;

  get(ref: TaskRef): string | null | undefined {
    return this.#texts.get(refKey(ref.jobNo, ref.taskNo));
  }

  set(key: string, text: string | null): void {
    this.forget(key);
    this.#texts.set(key, text);
    this.#characters += weight(key, text);
    for (const [oldest, old] of this.#texts) {
      if (this.#characters <= CHARACTERS_MAX) return;
      this.#texts.delete(oldest);
      this.#characters -= weight(oldest, old);
    }
  }

  forget(key: string): void {
    const text = this.#texts.get(key);
    if (text === undefined) return;
    this.#texts.delete(key);
    this.#characters -= weight(key, text);
  }
}

/** A map's entry costs about as much as a hundred characters. */
function weight(key: string, text: string | null): number {
  return 100 + key.length + (text?.length ?? 0);
}
