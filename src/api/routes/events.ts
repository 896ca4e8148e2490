/** The event log as a stream that can be taken up again. */
import type { JobId } from '../../core/index.ts';
import { checkedId } from '../fields.ts';
import { badInput } from '../refusal.ts';
import type { Call, Route } from '../route.ts';

export const eventRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/events',
    role: 'read',
    summary: 'Follow the event log (server-sent events)',
    description:
      'Each event has the number of the log as `id`, its kind as `event` and an Event as `data`. ' +
      '`Last-Event-ID` wins over `after`; without both the stream starts now. A block with an `id` ' +
      'and no `data` says how far the log has been searched. Numbers past retention are answered 410.',
    parameters: {
      after: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The last event that was seen; 0 for all that are kept.',
      },
      job: { type: 'string', maxLength: 200, description: 'Only events of this job.' },
    },
    headers: { 'Last-Event-ID': 'The last event that was seen.' },
    answers: {
      200: {
        description: 'A stream of events.',
        schema: 'Event',
        contentType: 'text/event-stream',
      },
    },
    async handle(call, { reader }) {
      const { job } = call.query;
      const after = lastSeen(call) ?? (await reader.head()).seq;
      const filter = job === undefined ? {} : { job: checkedId(job, '?job') as JobId };
      return { kind: 'events', pages: reader.follow({ after, ...filter }, call.signal) };
    },
  },
];

function lastSeen({ headers, query }: Call): number | null {
  const header = headers['last-event-id'];
  const text = typeof header === 'string' && header !== '' ? header : query['after'];
  if (text === undefined) return null;
  const seen = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  if (Number.isSafeInteger(seen)) return seen;
  throw badInput('Last-Event-ID', 'It is not the number of an event.');
}
