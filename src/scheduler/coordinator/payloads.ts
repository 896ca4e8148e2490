/**
 * Inputs for assignments. The scheduler's memory holds no payloads: what is not known from a moment
 * ago is read from the store when a task goes out, one read for all tasks of an answer unless they
 * are large. What would be too large to hold fails its task instead of the leader.
 */
import { endOf, inputReferences, isWebhookJob, resolveInput } from '../core/index.ts';
import type {
  Assignment,
  Batch,
  Json,
  LeaseName,
  TaskEnd,
  TaskError,
  TaskId,
  TaskNo,
  TaskRef,
} from '../core/index.ts';
import type { ChildOutcome, ReadyAssignment, StepRecord } from '../contract/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import { itemsOf } from './batch-items.ts';
import { boundedText } from './bounded-json.ts';
import { hasCalledJob, withCalledJobs } from './called-jobs.ts';
import { PayloadCache } from './payload-cache.ts';
import { ResultReader } from './result-reader.ts';
import type { Outcome, Outcomes } from './result-reader.ts';
import { attemptPlace } from './tracing.ts';
import { webhookRequest } from './webhook-request.ts';

/** The input cannot be made: the task must fail, and would fail the same way again. */
export interface Unresolvable {
  readonly assignment: Assignment;
  readonly error: TaskError;
}

/** The task's condition does not hold. */
export interface Skipped {
  readonly assignment: Assignment;
  readonly reason: string;
}

export interface Hydrated {
  readonly ready: ReadyAssignment[];
  readonly failed: Unresolvable[];
  readonly skipped: Skipped[];
  /** Their inputs are being recomputed: they go back and wait. */
  readonly early: Assignment[];
  /** How many of the assignments these are; the others would be too much at once. */
  count: number;
}

/** What the scheduler's memory knows of the tasks of a job. */
export interface JobLook {
  find(jobNo: LeaseName['jobNo'], id: TaskId): TaskNo | null;
  /** Where outputs may be recomputed: the run in which each task has ended, -1 for one that has not.
   * Null for all other jobs. */
  runs(jobNo: LeaseName['jobNo'], refs: readonly TaskRef[]): readonly number[] | null;
  /** The tasks that this one has added to its job, in the order of their numbers. */
  children(task: TaskRef): readonly Child[];
}

export interface Child extends TaskRef {
  readonly id: TaskId;
}

/** What a task may be given, by kind: its input, the outcomes of its children, the answers of the
 * jobs that it called. */
const GIVEN_BYTES_MAX = 64 * 1024 * 1024;
const GIVEN_MAX_SHOWN = '64 MiB';
/** A worker takes in no longer message than this and the rest together. */
const STEPS_LENGTH_MAX = 128 * 1024 * 1024;

const NO_STEPS: readonly StepRecord[] = [];
const NO_CHILDREN: readonly ChildOutcome[] = [];

/** What is needed to make one assignment ready. */
interface Making {
  readonly assignment: Assignment;
  readonly template: string | null;
  readonly steps: readonly StepRecord[];
  readonly children: readonly Child[];
  /** The inputs of the other jobs of its batch. */
  readonly members: readonly (string | null)[];
  /** By id; a task that is not there has no entry. */
  readonly references: ReadonlyMap<TaskId, TaskRef>;
  /** The runs of what it reads, as they were before it was read; null where they cannot change. */
  readonly runs: readonly number[] | null;
}

type Made =
  | ReadyAssignment
  | { readonly error: TaskError }
  | { readonly skipped: string }
  | { readonly isEarly: true };

export class Payloads {
  readonly #store: Store;
  readonly #shard: number;
  readonly #webhookSecrets: readonly string[];
  readonly #recent: PayloadCache = new PayloadCache();

  constructor(store: Store, shard: number, webhookSecrets: readonly string[] = []) {
    this.#store = store;
    this.#shard = shard;
    this.#webhookSecrets = webhookSecrets;
  }

  /** What was committed a moment ago. */
  get recent(): PayloadCache {
    return this.#recent;
  }

  /** What was just committed need not be read from the store. */
  learn(batch: Batch): void {
    this.#recent.learn(batch);
  }

  async hydrate(assignments: readonly Assignment[], look: JobLook): Promise<Hydrated> {
    const hydrated: Hydrated = { ready: [], failed: [], skipped: [], early: [], count: 0 };
    if (assignments.length === 0) return hydrated;
    const templates = await this.#inputs(assignments.map(({ lease }) => lease));
    if (assignments.every((each, at) => isFirstAndPlain(each, templates[at] ?? null))) {
      for (let at = 0; at < assignments.length; at += 1) {
        const each = assignments[at] as Assignment;
        hydrated.ready.push(ready(each, templates[at] ?? 'null', NO_STEPS, NO_CHILDREN));
      }
      hydrated.count = assignments.length;
      return hydrated;
    }
    const steps = await this.#steps(assignments);
    const members = new Map<Assignment, readonly (string | null)[]>();
    for (const each of assignments) {
      const refs = each.members ?? [];
      if (refs.length > 0) members.set(each, await this.#inputs(refs));
    }
    const reader = new ResultReader(this.#store, this.#shard, this.#recent.results);
    const all = assignments.map((assignment, at): Making => {
      const { lease, hasChildren } = assignment;
      const isFirst = lease.fence <= 1;
      const template = templates[at] ?? null;
      const named = references(lease, template, look);
      return {
        assignment,
        template,
        steps: (isFirst ? undefined : steps.get(refKey(lease.jobNo, lease.taskNo))) ?? NO_STEPS,
        children: isFirst || !hasChildren ? [] : look.children(lease),
        members: members.get(assignment) ?? [],
        references: named,
        runs: named.size === 0 ? null : look.runs(lease.jobNo, [...named.values()]),
      };
    });
    for (const making of all) {
      if (!isSimple(making)) reader.plan([...making.references.values(), ...making.children]);
    }
    for (const making of all) {
      const made = isSimple(making) ? asItIs(making) : await this.#make(making, reader);
      add(hydrated, making, isCurrent(making, look) ? made : EARLY);
      // The next ones are made with the next answer: this one is large enough.
      if (reader.characters > GIVEN_BYTES_MAX) break;
    }
    return hydrated;
  }

  async #make(making: Making, reader: ResultReader): Promise<Made> {
    const [store, shard, bytesMax] = [this.#store, this.#shard, GIVEN_BYTES_MAX];
    const recent = this.#recent.answers;
    const input = isWebhookJob(making.assignment)
      ? await this.#webhook(making, reader)
      : await madeInput(making, reader);
    if (typeof input !== 'string') return input;
    const children = await outcomesOf(making.children, reader);
    if (children === null) return tooLarge('The results of its children are', CHILDREN_TODO);
    if (lengthOf(making.steps) > STEPS_LENGTH_MAX) {
      return tooLarge('The results of its steps are', STEPS_TODO, '128 MiB');
    }
    const steps = hasCalledJob(making.steps)
      ? await withCalledJobs(making.steps, { store, shard, reader, recent, bytesMax })
      : making.steps;
    if ('code' in steps) return { error: steps };
    return ready(making.assignment, input, steps, children);
  }

  async #webhook(
    { assignment, template }: Making,
    reader: ResultReader,
  ): Promise<string | { readonly error: TaskError }> {
    const [store, shard, secrets] = [this.#store, this.#shard, this.#webhookSecrets];
    const parts = { store, shard, reader, secrets };
    const made = await webhookRequest(assignment, template ?? 'null', parts);
    return typeof made === 'string' ? made : { error: made };
  }

  /** Templates, one for each task. */
  async #inputs(refs: readonly TaskRef[]): Promise<readonly (string | null)[]> {
    const known = refs.map((ref) => this.#recent.inputs.get(ref));
    const missing = refs.filter((_ref, at) => known[at] === undefined);
    if (missing.length === 0) return known as (string | null)[];
    const read = await this.#store.inputs(this.#shard, missing);
    return refs.map(({ jobNo, taskNo }, at) => {
      const text = known[at];
      return text === undefined ? (read.get(refKey(jobNo, taskNo)) ?? null) : text;
    });
  }

  /** Only a task that was assigned before can have finished steps. */
  async #steps(
    assignments: readonly Assignment[],
  ): Promise<ReadonlyMap<string, readonly StepRecord[]>> {
    const steps = new Map<string, readonly StepRecord[]>();
    const again = assignments.filter(({ lease }) => lease.fence > 1);
    if (again.length === 0) return steps;
    await Promise.all(
      again.map(async ({ lease, run }) => {
        const rows = await this.#store.steps(this.#shard, lease, run);
        const records = rows.map(({ name, body }) => ({ name, body }));
        steps.set(refKey(lease.jobNo, lease.taskNo), records);
      }),
    );
    return steps;
  }
}

const NO_REFERENCES: ReadonlyMap<TaskId, TaskRef> = new Map();

function references(
  { jobNo }: LeaseName,
  template: string | null,
  look: JobLook,
): ReadonlyMap<TaskId, TaskRef> {
  if (isPlain(template)) return NO_REFERENCES;
  const found = new Map<TaskId, TaskRef>();
  for (const id of inputReferences(template)) {
    const taskNo = look.find(jobNo, id);
    if (taskNo !== null) found.set(id, { jobNo, taskNo });
  }
  return found;
}

/** Nothing in it can refer to a result, so it goes out as it is. */
function isPlain(template: string | null): boolean {
  return template === null || !template.includes('$');
}

/** Most are: it was never given out before, so it has neither steps nor children, and its input is what was stored. */
function isFirstAndPlain(assignment: Assignment, template: string | null): boolean {
  if (assignment.lease.fence > 1 || assignment.members !== undefined) return false;
  return isPlain(template) && !isWebhookJob(assignment);
}

/** Most are: nothing has to be read or put together. */
function isSimple({ assignment, template, children, steps, members }: Making): boolean {
  if (isWebhookJob(assignment)) return false;
  const isAlone = children.length === 0 && members.length === 0;
  return isPlain(template) && isAlone && steps.length === 0;
}

function asItIs({ assignment, template, steps }: Making): ReadyAssignment {
  return ready(assignment, template ?? 'null', steps, NO_CHILDREN);
}

const EARLY = { isEarly: true } as const;

/** Whether what was read is still current: a task may begin again meanwhile. */
function isCurrent({ assignment, references: refs, runs }: Making, look: JobLook): boolean {
  if (assignment.members === null) return false;
  if (runs === null) return true;
  const now = look.runs(assignment.lease.jobNo, [...refs.values()]);
  return runs.every((run, at) => run >= 0 && run === now?.[at]);
}

function add(to: Hydrated, { assignment }: Making, made: Made): void {
  to.count += 1;
  if ('isEarly' in made) to.early.push(assignment);
  else if ('skipped' in made) to.skipped.push({ assignment, reason: made.skipped });
  else if ('error' in made) to.failed.push({ assignment, error: made.error });
  else to.ready.push(made);
}

async function madeInput(
  { template, members, references: refs }: Making,
  reader: ResultReader,
): Promise<string | Exclude<Made, ReadyAssignment>> {
  if (members.length > 0) {
    const items = itemsOf([template, ...members], GIVEN_BYTES_MAX);
    return items ?? tooLarge('The items of its batch are', BATCH_TODO);
  }
  if (isPlain(template)) return template ?? 'null';
  const outcomes = await reader.read([...refs.values()], GIVEN_BYTES_MAX);
  if (outcomes === null) return tooLarge('The results that its input takes are', INPUT_TODO);
  let characters = template?.length ?? 0;
  const result = (id: TaskId): Json | undefined => {
    const ref = refs.get(id);
    const text = resultOf(ref, outcomes);
    characters += text?.length ?? 0;
    return ref === undefined || text === undefined ? undefined : reader.parsed(ref, text);
  };
  const outcome = (id: TaskId): Pick<Outcome, 'state' | 'error'> =>
    outcomeOf(refs.get(id), outcomes) ?? UNKNOWN;
  const end = (id: TaskId): TaskEnd => endOf(outcome(id).state, outcome(id).error);
  const failure = (id: TaskId): TaskError | null =>
    end(id) === 'failed' ? (outcome(id).error ?? CANCELLED) : null;
  const resolved = resolveInput(template, result, end, failure);
  if (!resolved.ok) {
    return resolved.error === null ? { skipped: resolved.skipped } : { error: resolved.error };
  }
  const input = boundedText(resolved.input, characters, GIVEN_BYTES_MAX);
  return input ?? tooLarge('Its input, with all results in it, is', INPUT_TODO);
}

const CANCELLED: TaskError = { code: 'cancelled', message: 'the task was cancelled' };

/** A task that is not there has done nothing. */
const UNKNOWN = { state: 'skipped', error: null } as const;

function outcomeOf(ref: TaskRef | undefined, outcomes: Outcomes): Outcome | undefined {
  return ref === undefined ? undefined : outcomes.get(refKey(ref.jobNo, ref.taskNo));
}

/** JSON text; undefined for a task that did not succeed. */
function resultOf(ref: TaskRef | undefined, outcomes: Outcomes): string | undefined {
  const outcome = outcomeOf(ref, outcomes);
  return outcome?.state === 'succeeded' ? (outcome.result ?? 'null') : undefined;
}

/** Null when they are too much. */
async function outcomesOf(
  children: readonly Child[],
  reader: ResultReader,
): Promise<readonly ChildOutcome[] | null> {
  if (children.length === 0) return NO_CHILDREN;
  const outcomes = await reader.read(children, GIVEN_BYTES_MAX);
  if (outcomes === null) return null;
  return children.flatMap(({ id, jobNo, taskNo }) => {
    const outcome = outcomes.get(refKey(jobNo, taskNo));
    // One that was added since the assignment was committed.
    return outcome === undefined ? [] : [{ id, ...outcome }];
  });
}

const INPUT_TODO = 'Store large results in a file or an object store, and pass their location.';
const BATCH_TODO = 'Give the batch fewer jobs, or pass the locations of large items.';
const CHILDREN_TODO = 'Let the children store their results elsewhere, and return the location.';
const STEPS_TODO = 'Store large data elsewhere, and let the steps return its location.';

function tooLarge(
  what: string,
  todo: string,
  max = GIVEN_MAX_SHOWN,
): { readonly error: TaskError } {
  return { error: { code: 'too_large', message: `${what} over ${max}. ${todo}` } };
}

function lengthOf(steps: readonly StepRecord[]): number {
  let length = 0;
  for (const { name, body } of steps) length += name.length + body.length;
  return length;
}

/** Field by field: there are thousands of these a second, and a spread costs several times more. */
function ready(
  assignment: Assignment,
  input: string,
  steps: readonly StepRecord[],
  children: readonly ChildOutcome[],
): ReadyAssignment {
  const made: ReadyAssignment = {
    lease: assignment.lease,
    jobId: assignment.jobId,
    taskId: assignment.taskId,
    executor: assignment.executor,
    run: assignment.run,
    attempt: assignment.attempt,
    runMs: assignment.runMs,
    assignedAt: assignment.assignedAt,
    scheduledAt: assignment.scheduledAt,
    hasChildren: assignment.hasChildren,
    resumed: assignment.resumed,
    idempotencyKey: assignment.idempotencyKey,
    trace: attemptPlace(assignment),
    input,
    steps,
    children,
  };
  return assignment.about === undefined ? made : { ...made, about: assignment.about };
}
