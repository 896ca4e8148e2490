import { isTerminal, taskKey } from '../core/index.ts';
import type { Batch, JobId, JobNo, TaskRef } from '../core/index.ts';
import { WaitingInputs } from './waiting-inputs.ts';

/** The characters of text that are cached, of each kind. */
const CHARACTERS_MAX = 16 * 1024 * 1024;
/** An entry costs about as much as this many characters. */
const ENTRY = 100;

/**
 * Inputs and results that were committed a moment ago. Most tasks go out right after they came in, and
 * most results are wanted by the next task: neither has to be read from the store. What is not here is read
 * from the store, so forgetting costs a look and nothing else.
 */
export class PayloadCache {
  readonly inputs: InputTexts = new InputTexts();
  readonly results: RecentTexts<TaskRef> = new RecentTexts(keyOf);
  /** Results of called jobs: their callers get them again whenever they run again, and a task that calls many runs
   * again for each of them. */
  readonly answers: RecentTexts<JobId> = new RecentTexts((id) => id);

  /** Called with each committed batch, in order. */
  learn(batch: Batch): void {
    this.inputs.learn(batch);
    // A new run: its result will be another one.
    for (const ref of batch.archived) this.results.forget(ref);
    if (batch.results.length === 0) return;
    const ended = new Set<JobNo>();
    for (const { no, finishedAt } of batch.jobUpdates) if (finishedAt !== null) ended.add(no);
    // No task of a job that has ended will ask for a result.
    for (const row of batch.results) if (!ended.has(row.jobNo)) this.results.set(row, row.body);
  }
}

/** Those of jobs that wait for long as well, if they are small. */
export class InputTexts {
  readonly #recent: RecentTexts<TaskRef> = new RecentTexts(keyOf);
  readonly #waiting: WaitingInputs = new WaitingInputs();

  get(ref: TaskRef): string | null | undefined {
    const waiting = ref.taskNo === 0 ? this.#waiting.get(ref.jobNo) : undefined;
    return waiting === undefined ? this.#recent.get(ref) : waiting;
  }

  learn({ specInserts, taskInserts, taskUpdates }: Batch): void {
    for (const spec of specInserts) {
      const isKept = spec.taskNo === 0 && this.#waiting.set(spec.jobNo, spec.input);
      if (!isKept) this.#recent.set(spec, spec.input);
    }
    // Nobody asks any more.
    for (const rows of [taskInserts, taskUpdates]) {
      for (const { jobNo, taskNo, state } of rows) {
        if (taskNo === 0 && isTerminal(state)) this.#waiting.delete(jobNo);
      }
    }
  }
}

/**
 * The youngest texts, up to a size; what is not known differs from what is known to be null. Two
 * generations: when the younger one is full, the older one is dropped as a whole. To take out the
 * oldest entry of one large map again and again would cost a walk over all that went before.
 */
export class RecentTexts<T> {
  readonly #keyOf: (what: T) => number | string;
  #young: Map<number | string, string | null> = new Map();
  #old: Map<number | string, string | null> = new Map();
  #characters = 0;

  constructor(keyOfWhat: (what: T) => number | string) {
    this.#keyOf = keyOfWhat;
  }

  get(what: T): string | null | undefined {
    const key = this.#keyOf(what);
    const text = this.#young.get(key);
    return text === undefined ? this.#old.get(key) : text;
  }

  set(what: T, text: string | null): void {
    this.#young.set(this.#keyOf(what), text);
    this.#characters += ENTRY + (text?.length ?? 0);
    if (this.#characters <= CHARACTERS_MAX / 2) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#characters = 0;
  }

  forget(what: T): void {
    const key = this.#keyOf(what);
    this.#young.delete(key);
    this.#old.delete(key);
  }
}

function keyOf({ jobNo, taskNo }: TaskRef): number {
  return taskKey(jobNo, taskNo);
}
