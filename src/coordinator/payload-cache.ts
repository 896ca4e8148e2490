import { TASKS_PER_JOB_LIMIT } from '../core/index.ts';
import type { Batch, JobNo, TaskRef } from '../core/index.ts';

/** Texts of so many characters are kept, of each kind. */
const CHARACTERS_MAX = 16 * 1024 * 1024;
/** An entry costs about as much as this many characters. */
const ENTRY = 100;

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
    for (const spec of batch.specInserts) this.inputs.set(spec, spec.input);
    // A new run: its result will be another one.
    for (const ref of batch.archived) this.results.forget(ref);
    if (batch.results.length === 0) return;
    const ended = new Set<JobNo>();
    for (const { no, finishedAt } of batch.jobUpdates) if (finishedAt !== null) ended.add(no);
    // No task of a job that has ended will ask for a result.
    for (const row of batch.results) if (!ended.has(row.jobNo)) this.results.set(row, row.body);
  }
}

/** The youngest texts, up to a size; what is not known differs from what is known to be null. */
class RecentTexts {
  readonly #texts: Map<number, string | null> = new Map();
  #characters = 0;

  get(ref: TaskRef): string | null | undefined {
    return this.#texts.get(keyOf(ref));
  }

  set(ref: TaskRef, text: string | null): void {
    const key = keyOf(ref);
    this.#remove(key);
    this.#texts.set(key, text);
    this.#characters += weight(text);
    if (this.#characters <= CHARACTERS_MAX) return;
    for (const oldest of this.#texts.keys()) {
      if (this.#characters <= CHARACTERS_MAX) return;
      this.#remove(oldest);
    }
  }

  forget(ref: TaskRef): void {
    this.#remove(keyOf(ref));
  }

  #remove(key: number): void {
    const text = this.#texts.get(key);
    if (text === undefined) return;
    this.#texts.delete(key);
    this.#characters -= weight(text);
  }
}

function keyOf({ jobNo, taskNo }: TaskRef): number {
  return jobNo * TASKS_PER_JOB_LIMIT + taskNo;
}

function weight(text: string | null): number {
  return ENTRY + (text?.length ?? 0);
}
