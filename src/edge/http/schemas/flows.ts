/** Flows that can be started, and events that start them, as the API shows them. */
import { JOB_STATES } from '../../../scheduler/core/index.ts';
import { SUMMARY_EXAMPLE } from './job-examples.ts';
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

const FLOW_EXAMPLE = {
  name: 'order',
  version: '3f9a1c04b7de',
  input: {
    type: 'object',
    properties: { id: { type: 'string' }, cents: { type: 'integer' } },
    required: ['id', 'cents'],
  },
  on: ['order.created'],
  schedules: [{ id: 'order' }],
  nodes: ['w-1', 'w-2'],
};

const flowFields: Readonly<Record<string, Schema>> = {
  name: text,
  version: described('Of graph and schema; a new job gets the newest that a live node has.', text),
  input: described('JSON Schema of the input; `{}` allows anything.', anything),
  on: described(
    'The events that start it.',
    listOf({
      anyOf: [
        text,
        record('If its data has these values.', {
          event: text,
          match: { type: 'object', additionalProperties: anything },
        }),
      ],
    }),
  ),
  schedules: described(
    'The schedules that it declares.',
    listOf(
      record(
        'One of them.',
        { id: text, note: described('Why it is not there.', text) },
        { optional: ['note'] },
      ),
    ),
  ),
  nodes: described('Live nodes that have it.', listOf(text)),
};

export type FlowSchemaName = 'FlowList' | 'SentEvent' | 'SentEvents';

export const flowSchemas: Readonly<Record<FlowSchemaName, Schema>> = {
  FlowList: record(
    'Flows that can be started by name.',
    { flows: listOf(record('A flow.', flowFields)) },
    { example: { flows: [FLOW_EXAMPLE] } },
  ),
  SentEvent: record(
    'An event, and what it has started, woken and cancelled.',
    {
      event: text,
      id: described('Of the event: as it was sent, or a new one.', text),
      jobs: listOf({
        anyOf: [
          record(
            'A job.',
            {
              ...{ flow: text, id: text, state: oneOf(JOB_STATES), isNew: flag },
              because: described(
                'Why it is not new: the event was sent before, or it is the live job of a singleton.',
                oneOf(['sent_before', 'singleton']),
              ),
            },
            { optional: ['because'] },
          ),
          record('Why a flow was not started.', { flow: text, error: ref('Problem') }),
        ],
      }),
      woken: listOf(record('One of the first 1,000 tasks that waited.', { job: text, task: text })),
      cancelled: described('Jobs that it has cancelled, the first 1,000.', listOf(text)),
      unlisted: described('How many more it has woken or cancelled, if there are.', whole),
      note: described('Present only if it has no effect, or not on all that it means.', text),
    },
    {
      optional: ['note', 'unlisted'],
      example: {
        event: 'order.created',
        id: 'evt_1',
        jobs: [{ flow: 'order', id: SUMMARY_EXAMPLE['id'], state: 'queued', isNew: true }],
        ...{ woken: [], cancelled: [] },
      },
    },
  ),
  SentEvents: {
    description: 'One answer for each event, in order.',
    ...listOf({ anyOf: [ref('SentEvent'), ref('NotSubmitted')] }),
    examples: [[{ event: 'tick', id: 'evt_1', jobs: [], woken: [], cancelled: [] }]],
  },
};
