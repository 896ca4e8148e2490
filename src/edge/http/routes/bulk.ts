/** One action on all jobs that fit a filter. */
import { BULK_EXECUTOR, BULK_NAME, readBulkRequest } from '../../../scheduler/contract/index.ts';
import { asLiteral } from '../../../scheduler/core/index.ts';
import type { Route } from '../route.ts';
import { ID_HEADERS, newIds, submitOne } from './submit.ts';

export const bulkRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/v1/bulk',
    role: 'submit',
    summary: 'Do one thing to all jobs that fit a filter',
    description:
      'Cancels, reruns, redrives or removes them, sends them a signal, or changes their priority or their time. ' +
      'Answers with the id of the job that does it; its result has the figures. Jobs that are submitted after it are ' +
      'left alone. A job that has changed meanwhile, so that there is nothing to do, counts as unchanged.',
    headers: ID_HEADERS,
    body: { schema: 'BulkRequest', required: true },
    answers: {
      200: { description: 'Nothing was created: the id was used before.', schema: 'Submitted' },
      201: { description: 'Accepted.', schema: 'Submitted' },
    },
    async handle(call, api) {
      const ids = newIds(call, api);
      const { jobs } = api.leader();
      const request = readBulkRequest(await call.body());
      const task = {
        id: 'bulk',
        executor: BULK_EXECUTOR,
        // A value may look like a reference to another task.
        input: asLiteral(request),
        retry: { maxAttempts: 20 },
      };
      const labels = { action: request.action };
      const answer = await submitOne(
        api,
        jobs,
        { name: BULK_NAME, labels, tasks: [task], output: { $from: 'bulk' } },
        ids(),
      );
      api.onBulk();
      return answer;
    },
  },
];
