/** The event log as a resumable stream. */
import type { JobId } from '../../../scheduler/core/index.ts';
import type { AsOf, EventsQuery } from '../../../scheduler/contract/index.ts';
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
      'Each event has its place in the log as `id` (its number, `@` and the history that the number ' +
      'belongs to), its kind as `event` and an Event as `data`. `Last-Event-ID` wins over `after`; ' +
      'without both the stream starts now. A block with an `id` and no `data` says how far the log has ' +
      'been searched. Places past retention, or in a history that the database has lost, are answered 410.',
    parameters: {
      after: {
        type: 'string',
        maxLength: 220,
        description: 'The last event that was seen, by number or as `id`; 0 for all that are kept.',
      },
      job: { type: 'string', maxLength: 200, description: 'Only events of this job.' },
    },
    headers: { 'Last-Event-ID': 'The `id` of the last event that was seen.' },
    answers: {
      200: {
        description: 'A stream of events.',
        schema: 'Event',
        contentType: 'text/event-stream',
      },
    },
    async handle(call, { reader }) {
      const { job } = call.query;
      const place = lastSeen(call) ?? placeOf(await reader.head());
      const filter = job === undefined ? {} : { job: checkedId(job, '?job') as JobId };
      return { kind: 'events', pages: reader.follow({ ...place, ...filter }, call.signal) };
    },
  },
];

type Place = Pick<EventsQuery, 'after' | 'history'>;

const PLACE = /^(\d{1,16})(?:@([A-Za-z0-9_.:+=-]{1,200}))?$/;

function placeOf({ seq: after, history }: AsOf<Date>): Place {
  return { after, ...(history === undefined ? {} : { history }) };
}

function lastSeen({ headers, query }: Call): Place | null {
  const header = headers['last-event-id'];
  const isHeader = typeof header === 'string' && header !== '';
  const text = isHeader ? header : query['after'];
  if (text === undefined) return null;
  const [, number = '', history] = PLACE.exec(text) ?? [];
  const after = number === '' ? NaN : Number(number);
  if (Number.isSafeInteger(after)) return { after, ...(history === undefined ? {} : { history }) };
  throw badInput(isHeader ? 'Last-Event-ID' : '?after', 'Not a valid event number or id.');
}
