/** Jobs and their tasks, as the API shows them: see `JobShape` and its neighbours. */
import type { AttemptOutcome } from '../../../scheduler/contract/index.ts';
import { JOB_STATES, KEEPS, PRIORITIES, TASK_STATES } from '../../../scheduler/core/index.ts';
import {
  ASKED_AT,
  ATTEMPT_EXAMPLE,
  LEASE_EXAMPLE,
  SUMMARY_EXAMPLE,
  TASK_EXAMPLE,
} from './job-examples.ts';
import {
  anything,
  described,
  flag,
  listOf,
  moment,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

const summaryFields: Readonly<Record<string, Schema>> = {
  id: text,
  no: described('Increases with every job; lists are sorted by it, newest first.', whole),
  name: text,
  state: oneOf(JOB_STATES),
  run: described('Increases with every rerun.', whole),
  priority: described('0 is urgent, 3 is low.', oneOf(PRIORITIES)),
  taskCount: whole,
  idempotencyKey: orNull(text),
  labels: described('Text by key, as submitted.', { type: 'object', additionalProperties: text }),
  runAt: described('None of its tasks starts before this time.', orNull(moment)),
  trace: described('The trace in which it was submitted, 32 digits; null for none.', orNull(text)),
  keep: described('What remains of it after its end.', oneOf(KEEPS)),
  startedBy: described(
    'The task that has submitted it, `{job, task}`, or the event that has started it, `{event, id}`; otherwise null.',
    orNull(
      record(
        'A task or an event.',
        { job: text, task: text, event: text, id: text },
        { optional: ['job', 'task', 'event', 'id'] },
      ),
    ),
  ),
  scheduleId: orNull(text),
  scheduledAt: described(
    'The scheduled time of the occurrence, even if the job started later.',
    orNull(moment),
  ),
  error: orNull(ref('TaskError')),
  createdAt: moment,
  startedAt: orNull(moment),
  finishedAt: orNull(moment),
};

const waitsFor = described(
  'Only in lists by `waitingFor`: signals that are awaited.',
  listOf(text),
);

const taskFields: Readonly<Record<string, Schema>> = {
  id: text,
  state: oneOf(TASK_STATES),
  run: whole,
  attempt: described('The attempt that runs or ran last; 0 before the first.', whole),
  node: orNull(text),
  executor: text,
  dependsOn: listOf(text),
  parent: orNull(text),
  progress: { type: 'number', minimum: 0, maximum: 1 },
  tree: described(
    'Of a task with children, where a whole job is shown: how far everything below it has come, itself included.',
    ref('TaskTree'),
  ),
  result: anything,
  isResultOmitted: described(
    'Present only if the result was omitted because the job has too many result bytes.',
    {
      enum: [true],
    },
  ),
  error: orNull(ref('TaskError')),
  waiting: described('Why it is not running, if the responding node knows.', orNull(text)),
  queuedAt: orNull(moment),
  startedAt: orNull(moment),
  finishedAt: orNull(moment),
};

const OUTCOMES: Readonly<Record<AttemptOutcome, true>> = {
  succeeded: true,
  failed: true,
  lost: true,
  returned: true,
  suspended: true,
  cancelled: true,
  skipped: true,
  discarded: true,
};

const asOf = ref('AsOf');

export type JobSchemaName =
  | 'AsOf'
  | 'TaskError'
  | 'JobSummary'
  | 'Job'
  | 'JobPage'
  | 'JobCounts'
  | 'Task'
  | 'TaskTree'
  | 'Attempt'
  | 'TaskDetail'
  | 'Lease'
  | 'PastRun'
  | 'DeadTask'
  | 'DeadTaskPage'
  | 'Submitted'
  | 'SubmittedOrList'
  | 'NotSubmitted';

export const jobSchemas: Readonly<Record<JobSchemaName, Schema>> = {
  AsOf: record(
    'The freshness of a response: it includes everything up to this event.',
    {
      seq: whole,
      at: moment,
      history: described('The history that the number belongs to; see the stream of events.', text),
    },
    { optional: ['history'], example: ASKED_AT },
  ),
  TaskError: record(
    'Why a task or a job did not succeed.',
    { code: text, message: text },
    { example: { code: 'timeout', message: 'It ran for more than 30000 ms.' } },
  ),
  JobSummary: record(
    'A job without its tasks.',
    { ...summaryFields, waitsFor },
    {
      optional: ['waitsFor'],
      example: SUMMARY_EXAMPLE,
    },
  ),
  Job: record(
    'A job with its tasks.',
    {
      ...summaryFields,
      result: described(
        'The value of its `output` once it has succeeded, otherwise null.',
        anything,
      ),
      isResultOmitted: described('Present only if the result is too large to be included.', {
        enum: [true],
      }),
      tasks: listOf(ref('Task')),
      history: listOf(ref('PastRun')),
      signal: described(
        'Present only in the response to a signal.',
        record('What happened to it.', {
          takenBy: described(
            'The task that received it; null if no task is waiting for it.',
            orNull(text),
          ),
          awaited: described('Names of the signals that tasks wait for.', listOf(text)),
        }),
      ),
      changed: described(
        'Present only in the response to a change of its priority or of its time.',
        flag,
      ),
      why: described('Why a change of its time has changed nothing.', text),
      asOf,
    },
    {
      optional: ['isResultOmitted', 'signal', 'changed', 'why'],
      example: {
        ...SUMMARY_EXAMPLE,
        result: null,
        tasks: [TASK_EXAMPLE],
        history: [],
        asOf: ASKED_AT,
      },
    },
  ),
  JobPage: record(
    'Jobs, newest first.',
    {
      jobs: listOf(ref('JobSummary')),
      cursor: described('Where the next page starts; null after the last.', orNull(text)),
      asOf,
    },
    { example: { jobs: [SUMMARY_EXAMPLE], cursor: null, asOf: ASKED_AT } },
  ),
  JobCounts: record(
    'How many jobs are in each state.',
    {
      counts: record(
        'By state.',
        Object.fromEntries(JOB_STATES.map((state): [string, Schema] => [state, whole])),
      ),
      isWhole: described(
        'False if only the newest jobs were counted, because there are more.',
        flag,
      ),
      asOf,
    },
    {
      example: {
        counts: { queued: 2, running: 7, succeeded: 48_196, failed: 17, cancelled: 0 },
        isWhole: true,
        asOf: ASKED_AT,
      },
    },
  ),
  TaskTree: record(
    'A task with children, and everything below it.',
    {
      total: whole,
      ended: whole,
      progress: { type: 'number', minimum: 0, maximum: 1 },
      state: described(
        'The most telling one: failed, then running, then waiting, then ended.',
        oneOf(TASK_STATES),
      ),
    },
    { example: { total: 12, ended: 9, progress: 0.8, state: 'running' } },
  ),
  Task: record('A task in its current run.', taskFields, {
    optional: ['isResultOmitted', 'tree'],
    example: TASK_EXAMPLE,
  }),
  Lease: record(
    'The right of a node to run an attempt of a task.',
    {
      node: text,
      attempt: whole,
      fence: described('Increases with every assignment of the task.', whole),
      since: described('When it was assigned, if the responding node leads.', orNull(moment)),
      expiresAt: described(
        'When it ends unless the node renews its session, if the responding node leads.',
        orNull(moment),
      ),
    },
    { example: LEASE_EXAMPLE },
  ),
  Attempt: record(
    'One assignment of a task to a node, and how it ended.',
    {
      run: whole,
      attempt: whole,
      fence: whole,
      node: orNull(text),
      started: orNull(moment),
      finished: orNull(moment),
      outcome: described(
        'Null while it runs. `lost`: its node or its input was lost. `returned`: it counts as no attempt. `discarded`: another attempt at the same time decided.',
        orNull(oneOf(Object.keys(OUTCOMES))),
      ),
      error: orNull(ref('TaskError')),
      speculative: described(
        'It was started on a second node because the first one took too long.',
        flag,
      ),
    },
    { example: ATTEMPT_EXAMPLE },
  ),
  TaskDetail: record(
    'A task with all that is stored of it.',
    {
      ...taskFields,
      input: described('As the job document has it, references included.', anything),
      resolvedInput: described(
        'As its handler gets it, with results in the places of references; null while one of them is missing.',
        anything,
      ),
      placement: described('What the task asks of its node; null for nothing.', anything),
      steps: described(
        'Finished steps of the current run.',
        listOf(record('A step.', { name: text, result: anything })),
      ),
      attempts: described(
        'Each assignment to a node, oldest first, as far back as events are retained.',
        listOf(ref('Attempt')),
      ),
      lease: described('Present while the task runs.', orNull(ref('Lease'))),
      asOf,
    },
    {
      optional: ['isResultOmitted', 'tree'],
      example: {
        ...TASK_EXAMPLE,
        input: { url: 'https://example.org/x' },
        resolvedInput: { url: 'https://example.org/x' },
        placement: { capabilities: { gpu: 'nvidia' } },
        steps: [],
        attempts: [ATTEMPT_EXAMPLE],
        lease: LEASE_EXAMPLE,
        asOf: ASKED_AT,
      },
    },
  ),
  PastRun: record(
    'A task as it was in an earlier run.',
    {
      id: text,
      run: whole,
      state: oneOf(TASK_STATES),
      attempt: whole,
      node: orNull(text),
      error: orNull(ref('TaskError')),
      startedAt: orNull(moment),
      finishedAt: orNull(moment),
    },
    {
      example: {
        id: 'fetch',
        run: 1,
        state: 'failed',
        attempt: 3,
        node: 'w-1',
        error: { code: 'dead', message: 'All 3 attempts failed.' },
        startedAt: '2026-11-15T02:00:00.120Z',
        finishedAt: '2026-11-15T02:00:09.000Z',
      },
    },
  ),
  DeadTask: record(
    'A task that is out of attempts.',
    {
      job: text,
      task: text,
      executor: text,
      attempt: whole,
      node: orNull(text),
      error: orNull(ref('TaskError')),
      finishedAt: orNull(moment),
    },
    {
      example: {
        job: SUMMARY_EXAMPLE['id'],
        task: 'fetch',
        executor: 'http',
        attempt: 3,
        node: 'w-1',
        error: { code: 'dead', message: 'All 3 attempts failed.' },
        finishedAt: '2026-11-15T02:00:09.000Z',
      },
    },
  ),
  DeadTaskPage: record(
    'Tasks that are out of attempts, those of the newest job first.',
    { tasks: listOf(ref('DeadTask')), cursor: orNull(text), asOf },
    { example: { tasks: [], cursor: null, asOf: ASKED_AT } },
  ),
  Submitted: record(
    'A job that was accepted, now or before.',
    { id: text, state: oneOf(JOB_STATES) },
    { example: { id: SUMMARY_EXAMPLE['id'], state: 'queued' } },
  ),
  SubmittedOrList: {
    description: 'One answer for a document; for a list, one for each of its documents, in order.',
    anyOf: [ref('Submitted'), listOf({ anyOf: [ref('Submitted'), ref('NotSubmitted')] })],
    examples: [
      { id: SUMMARY_EXAMPLE['id'], state: 'queued' },
      [{ id: SUMMARY_EXAMPLE['id'], state: 'queued' }],
    ],
  },
  NotSubmitted: record('Why one document of a list was rejected.', { error: ref('Problem') }),
};
