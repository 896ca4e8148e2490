/** Events that start flows. The stream of what happens in the cluster is another thing: see `events.ts`. */
import { setImmediate } from 'node:timers/promises';
import {
  MillraceError,
  isMillraceError,
  isObject,
  readTrace,
} from '../../../scheduler/core/index.ts';
import type {
  EventJob,
  EventReply,
  JobService,
  SendOptions,
} from '../../../scheduler/contract/index.ts';
import { problemOf } from '../problem.ts';
import { badInput } from '../refusal.ts';
import { answerOf, itemOf, TRACE_HEADERS } from './submit.ts';
import type { Route } from '../route.ts';

export const triggerRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/v1/triggers/:event',
    role: 'submit',
    summary: 'Send an event, which starts flows, wakes tasks and cancels jobs',
    description:
      'Each flow that names the event (`on`) gets a job with `data` as its input. A flow that does not accept the data has ' +
      'an `error` in its place and does not affect the others. Tasks that wait for such an event (`ctx.waitForEvent`) go on with ' +
      'its data, and jobs that name it in `cancelOn` are cancelled. The same `id` again starts and wakes nothing new. ' +
      'For an event that nobody names or waits for, all lists are empty, and `note` says so.',
    headers: TRACE_HEADERS,
    body: { schema: 'EventRequest', required: false },
    answers: {
      200: { description: 'No job was started.', schema: 'SentEvent' },
      201: { description: 'Started.', schema: 'SentEvent' },
      207: { description: 'Some flows did not accept it.', schema: 'SentEvent' },
    },
    async handle(call, api) {
      // Before the body is read: a node that does not lead need not receive it.
      const { jobs: service } = api.leader();
      const body = (await call.body()) ?? {};
      const { traceparent, tracestate } = call.headers;
      const options = { newId: api.newJobId, trace: readTrace(traceparent, tracestate) };
      const sent = await service.send(call.path['event'] ?? '', body, options);
      return answerOf(api, outcomesOf(sent), shown(sent));
    },
  },
  {
    method: 'POST',
    path: '/api/v1/triggers',
    role: 'submit',
    summary: 'Send several events',
    description:
      'Each has its answer, in order, as if it were sent alone: what is wrong with one does not affect the others, and then ' +
      'the status is 207. Repeat a call whose answer was lost with the same ids.',
    headers: TRACE_HEADERS,
    body: { schema: 'EventList', required: true },
    answers: {
      200: { description: 'No job was started.', schema: 'SentEvents' },
      201: { description: 'Started.', schema: 'SentEvents' },
      207: { description: 'Some were not accepted.', schema: 'SentEvents' },
    },
    async handle(call, api) {
      const { jobs: service } = api.leader();
      const events = checkedList(await call.body(), api.limits.listMax);
      const { traceparent, tracestate } = call.headers;
      const options = { newId: api.newJobId, trace: readTrace(traceparent, tracestate) };
      const sent = await sendAll(service, events, options);
      const outcomes = sent.flatMap((each) => (isMillraceError(each) ? [each] : outcomesOf(each)));
      const items = sent.map((each) =>
        isMillraceError(each) ? { error: problemOf(each) } : shown(each),
      );
      return answerOf(api, outcomes, items);
    },
  },
];

/** Several are on their way at once, so that they share transactions; not all, so that others have their turn. */
const AT_ONCE = 50;

async function sendAll(
  service: Pick<JobService, 'send'>,
  events: readonly unknown[],
  options: SendOptions,
): Promise<readonly (EventReply | MillraceError)[]> {
  const sent: (EventReply | MillraceError)[] = [];
  for (let from = 0; from < events.length; from += AT_ONCE) {
    const begun: Promise<EventReply | MillraceError>[] = [];
    for (const each of events.slice(from, from + AT_ONCE)) {
      const sending = sendOne(service, each, options);
      // Thrown below, when all have begun.
      sending.catch(() => {});
      begun.push(sending);
      // The data of each is looked through before it is sent, which may take milliseconds.
      await setImmediate();
    }
    sent.push(...(await Promise.all(begun)));
  }
  return sent;
}

async function sendOne(
  service: Pick<JobService, 'send'>,
  given: unknown,
  options: SendOptions,
): Promise<EventReply | MillraceError> {
  try {
    if (!isObject(given))
      throw badInput('', 'An event must be an object.', 'Write {"event": NAME, "data": ...}.');
    const { event, ...body } = given;
    if (event === undefined) throw badInput('/event', 'The name of the event is missing.');
    return await service.send(event, body, options);
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}

function checkedList(body: unknown, max: number): readonly unknown[] {
  if (!Array.isArray(body))
    throw badInput(
      '',
      'The body must be a list of events.',
      'Write [{"event": NAME, "data": ...}].',
    );
  if (body.length === 0) throw badInput('', 'The list is empty.');
  if (body.length <= max) return body as readonly unknown[];
  throw new MillraceError({
    code: 'too_large',
    what: `The list has ${body.length} events, and ${max} is the limit.`,
    todo: 'Send it in several requests.',
  });
}

function outcomesOf({ jobs }: EventReply): readonly EventJob['outcome'][] {
  return jobs.map(({ outcome }) => outcome);
}

function shown({ jobs, ...sent }: EventReply): object {
  const items = jobs.map(({ flow, outcome, because }) => ({
    flow,
    ...itemOf(outcome),
    ...(isMillraceError(outcome) ? {} : { isNew: outcome.changed }),
    ...(because !== undefined && { because }),
  }));
  return { ...sent, jobs: items };
}
