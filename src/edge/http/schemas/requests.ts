/** What callers send. The server's own checks decide; these say it to people and their tools. */
import { DOCUMENT_EXAMPLE, documentSchemas, type DocumentSchemaName } from './document.ts';
import {
  anything,
  described,
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
  | DocumentSchemaName
  | 'JobDocumentOrList'
  | 'CancelRequest'
  | 'RerunRequest'
  | 'SignalRequest'
  | 'ForkRequest'
  | 'ScheduleDocument'
  | 'NamedScheduleDocument';

export const requestSchemas: Readonly<Record<RequestSchemaName, Schema>> = {
  ...documentSchemas,
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
