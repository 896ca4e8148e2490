/** Tasks across jobs. */
import { badInput } from '../refusal.ts';
import { dated, type Route } from '../route.ts';
import { pageOf, pageParameters } from './jobs.ts';

export const taskRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/tasks',
    role: 'read',
    summary: 'List tasks that are out of attempts',
    parameters: {
      dead: {
        type: 'enum',
        values: ['true'],
        description: 'Required: only dead tasks are listed.',
      },
      ...pageParameters,
    },
    answers: { 200: { description: 'A page of tasks.', schema: 'DeadTaskPage' } },
    async handle(call, api) {
      if (call.query['dead'] === undefined) {
        throw badInput(
          '?dead',
          'Only tasks that are out of attempts are listed.',
          'Add dead=true.',
        );
      }
      const { asOf, value } = await api.reader.deadTasks(pageOf(call));
      return dated(asOf, { tasks: value.items, cursor: value.cursor });
    },
  },
];
