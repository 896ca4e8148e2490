/**
 * The fields of a job document: name, type, limits, default and a sentence for people. This table is the only place
 * where they are declared. The reader takes names and limits from it, `schema.ts` writes it as JSON Schema, and the
 * description of the HTTP API, `millrace schema` and `docs/job.schema.json` are made of that.
 */
import { KEEPS, WHEN_BUSY } from './document.ts';

/** A limit on durations. What is longer is a mistake in the unit, and sums stay exact. */
export const DURATION_MS_MAX: number = 3_650 * 24 * 3_600 * 1_000;
/** A limit on counts: concurrency, parallelism. */
const COUNT_MAX = 1_000_000;
const ATTEMPTS_MAX = 100;

export interface Limits {
  readonly min: number;
  readonly max: number;
}

/** Types that have a definition of their own in the schema, and a reader of their own. */
export type NamedType =
  | 'name'
  | 'id'
  | 'pointer'
  | 'template'
  | 'task'
  | 'dependency'
  | 'condition'
  | 'capabilityTest'
  | 'labels'
  | 'limit'
  | 'moment'
  | 'webhook'
  | 'cancel'
  | 'eventMatch'
  | 'url'
  | 'outcome'
  | 'comparable';

type FieldType =
  | { readonly type: NamedType }
  | ({ readonly type: 'whole' } & Limits)
  | { readonly type: 'choice'; readonly of: readonly (string | boolean)[] }
  | { readonly type: 'list'; readonly items: NamedType | 'any'; readonly minItems?: number }
  /** A list of distinct names, with a limit on their number. */
  | { readonly type: 'names'; readonly items: 'name' | 'id'; readonly minItems?: number }
  | { readonly type: 'oneOrMany'; readonly items: NamedType }
  | { readonly type: 'map'; readonly values: NamedType }
  | { readonly type: 'record'; readonly grammar: Grammar }
  | { readonly type: 'flag' | 'any' };

export type Field = FieldType & {
  readonly doc?: string;
  readonly required?: true;
  /** What holds when it is absent, where that is not simply nothing. */
  readonly default?: string | number | boolean;
};

export interface Grammar {
  readonly doc: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly names: ReadonlySet<string>;
}

const grammar = (doc: string, fields: Readonly<Record<string, Field>>): Grammar => ({
  doc,
  fields,
  names: new Set(Object.keys(fields)),
});

const count = (doc: string): Field => ({ type: 'whole', min: 1, max: COUNT_MAX, doc });
const delayMs = (doc: string): Field => ({ type: 'whole', min: 0, max: DURATION_MS_MAX, doc });
const attempts = (doc: string): Field => ({ type: 'whole', min: 1, max: ATTEMPTS_MAX, doc });
const timeoutMs = (doc: string): Field => {
  return { type: 'whole', min: 1, max: DURATION_MS_MAX, doc: `${doc} In milliseconds.` };
};
const record = (inner: Grammar): Field => ({ type: 'record', grammar: inner });

const priority = (usual: string | number): Field => ({
  type: 'whole',
  min: 0,
  max: 3,
  doc: '0 is urgent, 1 high, 2 normal, 3 low.',
  default: usual,
});

const RETRY: Grammar = grammar('How often it is tried, and how soon again.', {
  maxAttempts: attempts('Attempts in all, the first one included.'),
  backoffMs: delayMs('The wait before the second attempt; it doubles.'),
  maxBackoffMs: delayMs('The longest wait between two attempts.'),
  maxLosses: attempts('How often it may lose its node.'),
});

const TIMEOUTS: Grammar = grammar('How long it may take.', {
  queueMs: timeoutMs('From ready to assigned.'),
  runMs: timeoutMs('Each attempt.'),
  totalMs: timeoutMs('From its creation to its end.'),
});

const PLACEMENT: Grammar = grammar('Where it may run.', {
  executors: { type: 'names', items: 'name', doc: 'Executors that the node must have besides.' },
  executorsAny: {
    type: 'names',
    items: 'name',
    minItems: 1,
    doc: 'Of these the node must have at least one.',
  },
  capabilities: {
    type: 'map',
    values: 'capabilityTest',
    doc: 'What the node must offer. A bare number means at least, a list all of it.',
  },
  allowedNodes: { type: 'names', items: 'id', minItems: 1, doc: 'Only these nodes.' },
  forbiddenNodes: { type: 'names', items: 'id', doc: 'None of these nodes.' },
  maxParallelPerNode: count('Tasks of this placement on one node at the same time.'),
});

const CONCURRENCY: Grammar = grammar(
  'At most so many tasks of the cluster with the same key run at the same time.',
  {
    key: { type: 'name', required: true, doc: 'Tasks with the same key share the limit.' },
    limit: { ...count('How many.'), required: true },
  },
);

/** A limit on the period of a rate: longer ones are quotas, which belong to an application. */
const PERIOD_MS_MAX = 31 * 24 * 3_600 * 1_000;
export const LIMITS_MAX = 8;

export const LIMIT: Grammar = grammar(
  'A limit that all tasks of the cluster with the same key share.',
  {
    key: { type: 'name', required: true, doc: 'Tasks with the same key share the limit.' },
    max: { ...count('How many.'), required: true },
    perMs: {
      type: 'whole',
      min: 1,
      max: PERIOD_MS_MAX,
      doc: 'In any period of this length so many are started. Without it: so many run at the same time.',
    },
  },
);

/** The parts of a task that most tasks leave alone; see `options.ts`. */
export const OPTIONS: Readonly<Record<string, Field>> = {
  retry: record(RETRY),
  timeouts: record(TIMEOUTS),
  placement: record(PLACEMENT),
  concurrency: record(CONCURRENCY),
  limits: {
    type: 'list',
    items: 'limit',
    doc: `Limits that must all have a place for it; ${LIMITS_MAX} at most.`,
  },
};

export const TASK: Grammar = grammar('A piece of work.', {
  id: { type: 'id', required: true, doc: 'The name of the task within its job.' },
  executor: {
    type: 'name',
    required: true,
    doc: "What runs it: built in, such as 'http', or the name of a function in a module.",
  },
  input: {
    type: 'template',
    default: 'null',
    doc: 'What it works on. {"$from": task} takes the result of a dependency.',
  },
  when: {
    type: 'oneOrMany',
    items: 'condition',
    doc: 'It runs only if this holds, or all of these; otherwise it is skipped.',
  },
  dependsOn: { type: 'list', items: 'dependency', doc: 'Tasks that must end first.' },
  ...OPTIONS,
  priority: priority('that of the job'),
  parent: { type: 'id', doc: 'The task that this one is a part of.' },
  idempotencyKey: { type: 'name', doc: 'A task of this executor with the same key runs once.' },
});

export const DEPENDENCY: Grammar = grammar('A task that must end first.', {
  id: { type: 'id', required: true, doc: 'The task.' },
  required: {
    type: 'choice',
    of: [true, false, 'unlessSkipped'],
    default: true,
    doc: "true: it must succeed. 'unlessSkipped': it must not fail. false: it only has to end.",
  },
});

/** They test the task itself, not its result. */
export const ENDS = ['succeeded', 'failed', 'skipped'] as const;
/** They test a part of the result. */
export const COMPARISONS = ['=', '!=', '>', '>=', '<', '<=', 'in'] as const;
const ordered: Field = { type: 'comparable' };
const comparisons: Readonly<Record<(typeof COMPARISONS)[number], Field>> = {
  '=': { type: 'any' },
  '!=': { type: 'any' },
  '>': ordered,
  '>=': ordered,
  '<': ordered,
  '<=': ordered,
  in: { type: 'list', items: 'any' },
};

export const CONDITION: Grammar = grammar(
  "A test of a dependency's result: one comparison, or none for 'is there and not empty'. For what is missing only `!=` holds.",
  {
    $from: { type: 'id', required: true, doc: 'The dependency.' },
    path: { type: 'pointer', doc: 'Into its result; without it, the whole result.' },
    ...comparisons,
    succeeded: { type: 'flag', doc: 'Whether the task itself succeeded; without a path.' },
    failed: {
      type: 'flag',
      doc: 'Whether it failed, was cancelled, or did not run because something that it needs failed.',
    },
    skipped: {
      type: 'flag',
      doc: 'Whether a condition did not hold, its own or of a task that it needs.',
    },
  },
);

const DEBOUNCE: Grammar = grammar(
  'The job starts when no other one with its key has come for a while. One that comes meanwhile replaces it.',
  {
    key: { type: 'name', required: true, doc: 'Jobs with the same key replace each other.' },
    ms: { ...timeoutMs('How long it waits for another one.'), required: true },
    maxMs: timeoutMs('How long the first of them waits at most, however many come.'),
  },
);

const SINGLETON: Grammar = grammar('Of jobs with the same key only one is live at a time.', {
  key: { type: 'name', required: true, doc: 'Jobs with the same key exclude each other.' },
  whenBusy: {
    type: 'choice',
    of: WHEN_BUSY,
    default: 'skip',
    doc:
      'While another job with the key is live. skip: nothing is submitted, and the answer is the live job. replace: ' +
      'the live job is cancelled, and this one takes its place.',
  },
});

export const WEBHOOKS_MAX = 8;

export const WEBHOOK: Grammar = grammar('A server that is notified of the end of the job.', {
  url: { type: 'url', required: true, doc: 'Where to send it: POST with a signed JSON body.' },
  on: {
    type: 'list',
    items: 'outcome',
    minItems: 1,
    doc: 'For which ends; all of them without it.',
  },
});

export const CANCELS_MAX = 8;

export const CANCEL: Grammar = grammar('An event that cancels the job.', {
  event: { type: 'id', required: true, doc: 'Its name.' },
  match: { type: 'eventMatch', required: true, doc: 'What its data must have.' },
});

/** So many inputs are put together when a batch starts. */
const BATCH_MAX = 1_000;

const BATCH: Grammar = grammar(
  'Jobs with the same key that come shortly after each other are executed together: the task runs once, with the items of all of them.',
  {
    key: { type: 'name', required: true, doc: 'Jobs with the same key share batches.' },
    max: {
      type: 'whole',
      min: 1,
      max: BATCH_MAX,
      required: true,
      doc: 'The batch starts at once when it has so many jobs.',
    },
    ms: {
      ...timeoutMs('The batch starts when its first job has waited for so long.'),
      required: true,
    },
  },
);

const WHEN_FAILED: Grammar = grammar(
  'A task that runs once the job has failed, in a job of its own, which is made in the transaction of the end. Its input is {"job", "error", "task", "input"}.',
  {
    executor: { type: 'name', required: true, doc: 'What runs it.' },
    input: {
      type: 'any',
      doc: 'Passed on as it is, usually the input of the flow; null if it is larger than 32 KiB.',
    },
    ...OPTIONS,
    priority: priority('that of the job'),
  },
);

const JOB_TIMEOUTS: Grammar = grammar('Of the whole job.', {
  totalMs: timeoutMs('From its creation to its end.'),
});

export const JOB: Grammar = grammar('A job: tasks, and what they depend on.', {
  name: { type: 'name', default: 'job', doc: 'For people; several jobs may have the same.' },
  priority: priority(2),
  idempotencyKey: { type: 'name', doc: 'The same key again gives the first job.' },
  maxParallel: count('Tasks of this job that run at the same time.'),
  labels: { type: 'labels', doc: 'Text by key, to find the job by.' },
  runAt: {
    type: 'moment',
    doc: 'No task starts before this time. One that has passed means at once.',
  },
  onFailure: {
    type: 'choice',
    of: ['finish', 'cancel'],
    default: 'finish',
    doc: 'Once a task has failed: let the others finish, or cancel them.',
  },
  fairnessKey: {
    type: 'name',
    doc: 'Jobs with the same key, say of one tenant, take turns with all others as if they were one job.',
  },
  debounce: record(DEBOUNCE),
  singleton: record(SINGLETON),
  traceparent: {
    type: 'any',
    doc: 'The W3C trace context that the job belongs to. One that is not valid is ignored.',
  },
  tracestate: { type: 'any', doc: 'What tracing systems have added to it.' },
  keep: {
    type: 'choice',
    of: KEEPS,
    default: 'all',
    doc:
      'What remains of the job once it has ended. all: everything, as long as the settings say. failed: nothing if it ' +
      'succeeded. none: nothing, however it ended. What does not remain is removed a minute after the end.',
  },
  webhooks: {
    type: 'list',
    items: 'webhook',
    doc: `Servers that are notified of the end of the job; ${WEBHOOKS_MAX} at most.`,
  },
  cancelOn: {
    type: 'list',
    items: 'cancel',
    doc: `Events that cancel the job; ${CANCELS_MAX} at most.`,
  },
  batch: record(BATCH),
  whenFailed: record(WHEN_FAILED),
  timeouts: record(JOB_TIMEOUTS),
  output: {
    type: 'template',
    doc:
      'The result of the job, made of results of any of its tasks. Without it the last task gives the result, or all ' +
      'that nothing depends on do.',
  },
  tasks: { type: 'list', items: 'task', minItems: 1, required: true, doc: 'At least one.' },
});
