import { PagedMap, TaskMap, isTerminal } from '../core/index.ts';
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
  readonly results: RecentTexts<TaskRef> = new RecentTexts(() => new ByTask());
  /** Results of called jobs: their callers get them again whenever they run again, and a task that calls many runs
   * again for each of them. */
  readonly answers: RecentTexts<JobId> = new RecentTexts(() => new Map<JobId, string | null>());

  /** Called with each committed batch, in order. */
  learn(batch: Batch): void {
    this.inputs.learn(batch);
    // A new run: its result will be another one.
    for (const ref of batch.archived) this.results.forget(ref);
    if (batch.results.length === 0) return;
    const ended = new PagedMap<JobNo, true>();
    for (const { no, finishedAt } of batch.jobUpdates) if (finishedAt !== null) ended.set(no, true);
    // No task of a job that has ended will ask for a result.
    for (const row of batch.results) if (!ended.has(row.jobNo)) this.results.set(row, row.body);
  }
}

/** Those of jobs that wait for long as well, if they are small. */
export class InputTexts {
  readonly #recent: RecentTexts<TaskRef> = new RecentTexts(() => new ByTask());
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
  readonly #make: () => Texts<T>;
  #young: Texts<T>;
  #old: Texts<T>;
  #characters = 0;

  constructor(make: () => Texts<T>) {
    this.#make = make;
    this.#young = make();
    this.#old = make();
  }

  get(what: T): string | null | undefined {
    const text = this.#young.get(what);
    return text === undefined ? this.#old.get(what) : text;
  }

  set(what: T, text: string | null): void {
    this.#young.set(what, text);
    this.#characters += ENTRY + (text?.length ?? 0);
    if (this.#characters <= CHARACTERS_MAX / 2) return;
    this.#old = this.#young;
    this.#young = this.#make();
    this.#characters = 0;
  }

  forget(what: T): void {
    this.#young.delete(what);
    this.#old.delete(what);
  }
}

type Texts<T> = Pick<Map<T, string | null>, 'get' | 'delete'> & {
  set(what: T, text: string | null): unknown;
};

class ByTask implements Texts<TaskRef> {
  readonly #texts: TaskMap<string | null> = new TaskMap();

  get({ jobNo, taskNo }: TaskRef): string | null | undefined {
    return this.#texts.get(jobNo, taskNo);
  }

  set({ jobNo, taskNo }: TaskRef, text: string | null): void {
    this.#texts.set(jobNo, taskNo, text);
  }

  delete({ jobNo, taskNo }: TaskRef): boolean {
    return this.#texts.delete(jobNo, taskNo);
  }
}
