/** What callers send. The server's own checks decide; these say it to people and their tools. */
import { PRIORITIES } from '../../../scheduler/core/index.ts';
import {
  anything,
  described,
  listOf,
  oneOf,
  orNull,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

const DOCUMENT_EXAMPLE = {
  name: 'nightly',
  priority: 2,
  idempotencyKey: '2026-11-15',
  tasks: [
    {
      id: 'fetch',
      executor: 'http',
      input: { url: 'https://example.org/x' },
      retry: { maxAttempts: 5, backoffMs: 250 },
      timeouts: { queueMs: 60_000, runMs: 30_000 },
    },
    {
      id: 'sum',
      executor: 'myFunction',
      dependsOn: ['fetch', { id: 'warm', required: false }],
      input: { rows: { $from: 'fetch', path: '/body/rows' } },
      placement: { capabilities: { gpu: 'nvidia' }, forbiddenNodes: ['w-9'] },
    },
    { id: 'warm', executor: 'echo', input: 1 },
    {
      id: 'alert',
      executor: 'myFunction',
      dependsOn: ['sum'],
      when: { $from: 'sum', path: '/total', '>': 1_000 },
      input: { total: { $from: 'sum', path: '/total' } },
    },
  ],
  output: { total: { $from: 'sum', path: '/total' } },
};

/** Of which a condition has one at most. */
const COMPARISONS: Readonly<Record<string, Schema>> = {
  '=': anything,
  '!=': anything,
  '>': anything,
  '>=': anything,
  '<': anything,
  '<=': anything,
  in: listOf(anything),
  succeeded: described('Whether the task itself succeeded; without a path.', { type: 'boolean' }),
  failed: described(
    'Whether it failed, was cancelled, or did not run because something that it needs failed.',
    { type: 'boolean' },
  ),
  skipped: described('Whether a condition did not hold, its own or of a task that it needs.', {
    type: 'boolean',
  }),
};

const optionalRecord = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
): Schema => record(description, properties, { optional: Object.keys(properties) });

const scheduleFields: Readonly<Record<string, Schema>> = {
  timing: described(
    'One of `{cron, zone}`, `{everyMs, anchorAt}` and `{at}`.',
    optionalRecord('When it runs.', {
      cron: text,
      zone: text,
      everyMs: whole,
      anchorAt: anything,
      at: anything,
    }),
  ),
  misfire: described('What happens to missed occurrences.', oneOf(['skip', 'once', 'all'])),
  overlap: described(
    'What happens while the previous job is still running.',
    oneOf(['skip', 'queue', 'cancel']),
  ),
  document: ref('JobDocument'),
};

const SCHEDULE_EXAMPLE = {
  timing: { cron: '0 2 * * 1-5', zone: 'Europe/Berlin' },
  document: { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] },
};

export type RequestSchemaName =
  | 'JobDocument'
  | 'TaskDocument'
  | 'Condition'
  | 'JobDocumentOrList'
  | 'CancelRequest'
  | 'RerunRequest'
  | 'SignalRequest'
  | 'ForkRequest'
  | 'ScheduleDocument'
  | 'NamedScheduleDocument';

export const requestSchemas: Readonly<Record<RequestSchemaName, Schema>> = {
  JobDocument: record(
    'A job to run: tasks and what they depend on.',
    {
      name: text,
      priority: oneOf(PRIORITIES),
      idempotencyKey: described('The same key again gives the first job.', text),
      maxParallel: orNull(whole),
      onFailure: oneOf(['finish', 'cancel']),
      timeouts: optionalRecord('Of the whole job.', { totalMs: whole }),
      tasks: { ...listOf(ref('TaskDocument')), minItems: 1 },
      output: described(
        'The result of the job: JSON in which `{"$from": task, "path": pointer}` takes the result of ' +
          'any task. Without it the last task gives the result, or all that nothing depends on do.',
        anything,
      ),
    },
    {
      optional: [
        'name',
        'priority',
        'idempotencyKey',
        'maxParallel',
        'onFailure',
        'timeouts',
        'output',
      ],
      example: DOCUMENT_EXAMPLE,
    },
  ),
  Condition: record(
    'What a result must be like. Has one comparison at most; without one the value must not be ' +
      'null, false, 0, empty text or missing. For what is missing only `!=` holds.',
    {
      $from: described('A dependency of the task.', text),
      path: described('A JSON Pointer into its result; without it, the whole result.', text),
      ...COMPARISONS,
    },
    {
      optional: ['path', ...Object.keys(COMPARISONS)],
      example: { $from: 'sum', path: '/total', '>': 1_000 },
    },
  ),
  TaskDocument: record(
    'A task of a job.',
    {
      id: text,
      executor: text,
      input: described('JSON; `{"$from": task, "path": pointer}` takes a result.', anything),
      when: described('It is skipped unless all of this holds.', {
        anyOf: [ref('Condition'), listOf(ref('Condition'))],
      }),
      dependsOn: listOf({
        anyOf: [
          text,
          record(
            'How it must end: with success, with anything but a failure, or somehow.',
            { id: text, required: { enum: [true, 'unlessSkipped', false] } },
            {
              optional: ['required'],
            },
          ),
        ],
      }),
      priority: oneOf(PRIORITIES),
      parent: text,
      idempotencyKey: text,
      retry: optionalRecord('How often it is tried.', {
        maxAttempts: whole,
        backoffMs: whole,
        maxBackoffMs: whole,
        maxLosses: whole,
      }),
      timeouts: optionalRecord('How long it may take.', {
        queueMs: whole,
        runMs: whole,
        totalMs: whole,
      }),
      placement: optionalRecord('Where it may run.', {
        executors: listOf(text),
        executorsAny: listOf(text),
        capabilities: { type: 'object', additionalProperties: anything },
        allowedNodes: listOf(text),
        forbiddenNodes: listOf(text),
        maxParallelPerNode: whole,
      }),
      concurrency: record('A limit over the cluster.', { key: text, limit: whole }),
    },
    {
      optional: [
        'input',
        'when',
        'dependsOn',
        'priority',
        'parent',
        'idempotencyKey',
        'retry',
        'timeouts',
        'placement',
        'concurrency',
      ],
    },
  ),
  JobDocumentOrList: {
    description: 'A job document, or a list of them.',
    anyOf: [ref('JobDocument'), listOf(ref('JobDocument'))],
    examples: [DOCUMENT_EXAMPLE],
  },
  CancelRequest: optionalRecord('The reason for the cancellation.', { reason: text }),
  RerunRequest: optionalRecord(
    'Only if the job is at this run, which makes the call safe to repeat.',
    {
      expectedRun: whole,
    },
  ),
  SignalRequest: {
    description: 'The value that the waiting task receives: any JSON; null without a body.',
    examples: [{ approved: true }],
  },
  ForkRequest: record(
    'The task from which the new job runs again.',
    { from: text },
    { example: { from: 'sum' } },
  ),
  ScheduleDocument: record('When to run which job.', scheduleFields, {
    optional: ['misfire', 'overlap'],
    example: SCHEDULE_EXAMPLE,
  }),
  NamedScheduleDocument: record(
    'When to run which job, under which name.',
    { id: text, ...scheduleFields },
    { optional: ['misfire', 'overlap'], example: { id: 'nightly', ...SCHEDULE_EXAMPLE } },
  ),
};
