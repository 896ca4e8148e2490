/** Request bodies. The server validates them itself; these schemas document them. */
import { KEEPS, PRIORITIES } from '../../../scheduler/core/index.ts';
import { DOCUMENT_EXAMPLE, documentSchemas, type DocumentSchemaName } from './document.ts';
import {
  anything,
  described,
  flag,
  listOf,
  oneOf,
  record,
  ref,
  type Schema,
  text,
  whole,
} from './schema.ts';

const optionalRecord = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
): Schema => record(description, properties, { optional: Object.keys(properties) });

const timingFields: Readonly<Record<string, Schema>> = {
  cron: text,
  zone: text,
  everyMs: whole,
  anchorAt: anything,
  at: anything,
};

const scheduleFields: Readonly<Record<string, Schema>> = {
  timing: described(
    'One of `{cron, zone}`, `{everyMs, anchorAt}` and `{at}`. These may also stand beside the other fields.',
    optionalRecord('When it runs.', timingFields),
  ),
  ...timingFields,
  misfire: described('What happens to missed occurrences.', oneOf(['skip', 'once', 'all'])),
  overlap: described(
    'What happens while the previous job is still running.',
    oneOf(['skip', 'queue', 'cancel']),
  ),
  endAt: described('No occurrence after this time is started.', anything),
  maxRuns: described('So many occurrences are started; those by hand do not count.', whole),
  runs: described('How many were started so far. Ignored in requests.', whole),
  document: ref('JobDocument'),
  flow: described('The name of a flow, instead of a document.', text),
  input: described('Of the flow.', anything),
  declared: described('Whether the flow itself declares it. Ignored in requests.', flag),
};

const SCHEDULE_OPTIONAL = Object.keys(scheduleFields);

const SCHEDULE_EXAMPLE = {
  timing: { cron: '0 2 * * 1-5', zone: 'Europe/Berlin' },
  document: { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] },
};

export type RequestSchemaName =
  | DocumentSchemaName
  | 'JobDocumentOrList'
  | 'FlowStart'
  | 'EventRequest'
  | 'EventList'
  | 'CancelRequest'
  | 'PriorityRequest'
  | 'RescheduleRequest'
  | 'RerunRequest'
  | 'SignalRequest'
  | 'BulkRequest'
  | 'ForkRequest'
  | 'PauseRequest'
  | 'ResumeRequest'
  | 'ScheduleDocument'
  | 'NamedScheduleDocument'
  | 'ScheduleTrigger'
  | 'ScheduleBackfill';

export const requestSchemas: Readonly<Record<RequestSchemaName, Schema>> = {
  ...documentSchemas,
  JobDocumentOrList: {
    description: 'A job document, or a list of them.',
    anyOf: [ref('JobDocument'), listOf(ref('JobDocument'))],
    examples: [DOCUMENT_EXAMPLE],
  },
  FlowStart: {
    ...optionalRecord('The input of the flow, and fields of the new job.', {
      input: described('As the JSON Schema of the flow describes it.', anything),
      idempotencyKey: described('The same key again gives the first job.', text),
      priority: { type: 'integer', minimum: 0, maximum: 3 },
      name: described("Instead of the flow's own.", text),
      labels: { type: 'object', additionalProperties: text },
      runAt: described('No task starts before.', anything),
      keep: described('What remains of the job after its end.', oneOf(KEEPS)),
    }),
    // Whatever else a job document may say of the job itself.
    additionalProperties: true,
    examples: [{ input: { id: 'A-7', cents: 1_999 }, idempotencyKey: 'order A-7' }],
  },
  EventRequest: {
    ...optionalRecord('An event.', {
      data: described('The input of each flow that it starts: any JSON up to 256 KiB.', anything),
      id: described('The same id again starts nothing new.', text),
      labels: described('Of each new job.', { type: 'object', additionalProperties: text }),
    }),
    examples: [{ data: { id: 'A-7', cents: 1_999 }, id: 'evt_1' }],
  },
  EventList: {
    description: 'Events, each with its name.',
    ...listOf(
      record(
        'An event.',
        {
          event: text,
          data: described('As of one event.', anything),
          id: described('The same id again starts nothing new.', text),
          labels: described('Of each new job.', { type: 'object', additionalProperties: text }),
        },
        { optional: ['data', 'id', 'labels'] },
      ),
    ),
    examples: [[{ event: 'order.created', data: { id: 'A-7' }, id: 'evt_1' }]],
  },
  CancelRequest: optionalRecord('The reason for the cancellation.', { reason: text }),
  PriorityRequest: record(
    'How urgent a job is.',
    { priority: described('0 is urgent, 3 is low.', oneOf(PRIORITIES)) },
    { example: { priority: 0 } },
  ),
  RescheduleRequest: record(
    'When a job starts.',
    { runAt: described('A time as in a job document, or `now`.', anything) },
    { example: { runAt: '2026-11-15T02:00:00Z' } },
  ),
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
  BulkRequest: record(
    'An action, and the jobs that it concerns.',
    {
      action: oneOf([
        ...['cancel', 'rerun', 'redrive', 'remove'],
        ...['signal', 'priority', 'reschedule'],
      ]),
      signal: described('With `signal`: its name.', text),
      value: described('With `signal`: any JSON.', anything),
      priority: described('With `priority`: 0 is urgent, 3 is low.', oneOf(PRIORITIES)),
      runAt: described('With `reschedule`: a time, or `now`.', anything),
      filter: record(
        'At least one field; all of them must fit.',
        {
          state: text,
          name: text,
          labels: described('`key:value` each.', listOf(text)),
          waitingFor: described('A signal that one of its tasks waits for; `*` for any.', text),
          schedule: described('The id of a schedule.', text),
          startedBy: described('`event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`.', text),
          since: described('Created at this time or later.', anything),
          until: described('Created before this time.', anything),
        },
        {
          optional: [
            ...['state', 'name', 'labels', 'waitingFor', 'schedule', 'startedBy'],
            ...['since', 'until'],
          ],
        },
      ),
    },
    {
      optional: ['signal', 'value', 'priority', 'runAt'],
      example: { action: 'rerun', filter: { state: 'failed', labels: ['team:a'] } },
    },
  ),
  ForkRequest: record(
    'The task from which the new job runs again, and its input if that is to be another one.',
    { from: text, input: anything },
    { optional: ['input'], example: { from: 'sum', input: { amounts: [1, 2] } } },
  ),
  PauseRequest: optionalRecord('An executor or the key of a limit, and the reason.', {
    executor: text,
    key: text,
    reason: text,
  }),
  ResumeRequest: optionalRecord('An executor or the key of a limit.', {
    executor: text,
    key: text,
  }),
  ScheduleDocument: record('When to run which job.', scheduleFields, {
    optional: SCHEDULE_OPTIONAL,
    example: SCHEDULE_EXAMPLE,
  }),
  NamedScheduleDocument: record(
    'When to run which job, under which name.',
    { id: text, ...scheduleFields },
    { optional: SCHEDULE_OPTIONAL, example: { id: 'nightly', ...SCHEDULE_EXAMPLE } },
  ),
  ScheduleTrigger: record(
    'For which time it is run; without one, for now.',
    { at: described('A time that has passed.', text) },
    { optional: ['at'], example: { at: '2026-11-14T01:00:00.000Z' } },
  ),
  ScheduleBackfill: record(
    'The times of the schedule in this range, both ends included.',
    { from: text, to: described('Now, if not given.', text) },
    {
      optional: ['to'],
      example: { from: '2026-11-08T00:00:00.000Z', to: '2026-11-15T00:00:00.000Z' },
    },
  ),
};
