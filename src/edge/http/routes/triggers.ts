/** Events that start flows. The stream of what happens in the cluster is another thing: see `events.ts`. */
import { isMillraceError, readTrace } from '../../../scheduler/core/index.ts';
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
      const { jobs, ...sent } = await service.send(call.path['event'] ?? '', body, options);
      const outcomes = jobs.map(({ outcome }) => outcome);
      const items = jobs.map(({ flow, outcome, because }) => ({
        flow,
        ...itemOf(outcome),
        ...(isMillraceError(outcome) ? {} : { isNew: outcome.changed }),
        ...(because !== undefined && { because }),
      }));
      return answerOf(api, outcomes, { ...sent, jobs: items });
    },
  },
];
