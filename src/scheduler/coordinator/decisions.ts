/**
 * Decides for the tasks that no node runs (`Decide`), right before each commit: the end of what they depend on, the
 * decision and the assignments that follow from it are one transaction. What is needed is nearly always known from a
 * moment ago; if not, as after a change of leader, it is read from the store first.
 */
import { FRAGMENT_EXECUTOR, inputReferences, resolveInput } from '../core/index.ts';
import type {
  Decide,
  Effects,
  Json,
  SchedulerState,
  TaskError,
  TaskId,
  TaskRef,
} from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import { asFault } from './faults.ts';
import type { PayloadCache } from './payload-cache.ts';
import { slotsFor } from './processor-slots.ts';
import type { QueryPlanner } from './query-planner.ts';
import { cleanText } from './text.ts';

export interface DecisionsOptions {
  readonly store: Pick<Store, 'inputs' | 'results'>;
  readonly shard: number;
  readonly recent: Pick<PayloadCache, 'inputs' | 'results'>;
  /** Makes the decisions. */
  readonly planner: Pick<QueryPlanner, 'decide'> | null;
  /** More is known now: `decide` should be called again. */
  readonly onLoaded: () => void;
}

/** An undecided task: its name, and how to find those that it depends on. */
interface Asked extends TaskRef {
  readonly run: number;
  readonly find: (id: TaskId) => TaskRef | null;
}

/** What was read from the store for a task. */
interface Loaded {
  readonly input: string | null;
  readonly results: ReadonlyMap<string, string>;
  readonly times: number;
}

/** What is missing after so many reads is not there. */
const LOADS_MAX = 3;

export class Decisions {
  readonly #options: DecisionsOptions;
  readonly #loaded: Map<string, Loaded> = new Map();
  readonly #loading: Set<string> = new Set();

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** For each undecided task whose input is known. */
  decide(state: SchedulerState, batches: readonly Effects[]): readonly Decide[] {
    const made: Decide[] = [];
    const wanted = new Set<string>();
    for (const asked of undecidedIn(state)) {
      const { jobNo, taskNo, run } = asked;
      const key = refKey(jobNo, taskNo);
      wanted.add(key);
      const decision = this.#decision(state, asked, batches);
      if (decision === null) this.#load(key, asked);
      else made.push({ type: 'decide', jobNo, taskNo, run, decision });
    }
    for (const key of this.#loaded.keys()) if (!wanted.has(key)) this.#loaded.delete(key);
    return made;
  }

  /** Null if something has to be read first. */
  #decision(
    state: SchedulerState,
    asked: Asked,
    batches: readonly Effects[],
  ): Decide['decision'] | null {
    const { recent, planner } = this.#options;
    const loaded = this.#loaded.get(refKey(asked.jobNo, asked.taskNo));
    const isLast = loaded !== undefined && loaded.times >= LOADS_MAX;
    const template = recent.inputs.get(asked) ?? loaded?.input;
    if (template === undefined || template === null) return isLast ? failed(NO_INPUT) : null;
    const results = new Map<TaskId, Json>();
    for (const id of inputReferences(template)) {
      const ref = asked.find(id);
      const text = ref === null ? undefined : this.#resultOf(ref, batches, loaded);
      if (text === undefined) return isLast ? failed(NO_INPUT) : null;
      results.set(id, JSON.parse(text) as Json);
    }
    const resolved = resolveInput(
      template,
      (id) => results.get(id),
      () => 'succeeded',
    );
    if (!resolved.ok) return failed(resolved.error ?? NO_INPUT);
    try {
      return (
        planner?.decide?.(resolved.input, slotsFor(state, FRAGMENT_EXECUTOR)) ?? failed(NO_PLANNER)
      );
    } catch (error) {
      const { code, message } = asFault(error);
      return failed({ code, message: cleanText(message) });
    }
  }

  #resultOf(
    ref: TaskRef,
    batches: readonly Effects[],
    loaded: Loaded | undefined,
  ): string | undefined {
    for (const batch of batches) {
      const text = batch.resultOf(ref);
      if (text !== undefined) return text;
    }
    const { recent } = this.#options;
    return recent.results.get(ref) ?? loaded?.results.get(refKey(ref.jobNo, ref.taskNo));
  }

  #load(key: string, asked: Asked): void {
    if (this.#loading.has(key)) return;
    this.#loading.add(key);
    const { onLoaded } = this.#options;
    const done = (): boolean => this.#loading.delete(key);
    // If it fails it is tried again before the next commit: a store that does not answer is not asked in a loop.
    void this.#read(key, asked)
      .finally(done)
      .then(onLoaded, () => {});
  }

  async #read(key: string, asked: Asked): Promise<void> {
    const { store, shard } = this.#options;
    const input = (await store.inputs(shard, [asked])).get(key) ?? null;
    const refs = inputReferences(input).flatMap((id) => asked.find(id) ?? []);
    const results = await store.results(shard, refs);
    const times = (this.#loaded.get(key)?.times ?? 0) + 1;
    this.#loaded.set(key, { input, results, times });
  }
}

function* undecidedIn({ tasks, undecided }: SchedulerState): Generator<Asked> {
  for (const slot of undecided) {
    const job = tasks.job(slot);
    const find = (id: TaskId): TaskRef | null => {
      const taskNo = job.taskNo(id, tasks);
      return taskNo === null ? null : { jobNo: job.no, taskNo };
    };
    yield { jobNo: job.no, taskNo: tasks.no(slot), run: tasks.run.get(slot), find };
  }
}

function failed(error: TaskError): { readonly error: TaskError } {
  return { error: { code: error.code, message: error.message } };
}

const NO_INPUT: TaskError = {
  code: 'invariant',
  message: 'The results that it depends on are not in the store.',
};
const NO_PLANNER: TaskError = {
  code: 'unimplemented',
  message: 'This leader does not run queries. Let a server lead that has SQL enabled.',
};
