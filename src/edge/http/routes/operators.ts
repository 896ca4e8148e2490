/** Custom operators and functions that workers have declared. */
import { ok, type Route } from '../route.ts';

export const operatorRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/operators',
    role: 'read',
    summary: 'List custom operators and functions',
    description: 'Each one that a worker has ever declared, whether or not a worker has it now.',
    answers: { 200: { description: 'All of them, by name.', schema: 'OperatorList' } },
    handle(_call, api) {
      const operators = api.leader().operators.list.map((each) => {
        const { name, kind, input, output, distribution, parameters, isDeterministic } = each;
        return { name, kind, input, output, distribution, parameters, isDeterministic };
      });
      return ok({ operators });
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/operators/:name',
    role: 'admin',
    summary: 'Forget a custom operator or function',
    description:
      'The next worker that registers may declare it otherwise. Queries that were planned keep their plan.',
    answers: { 204: { description: 'Forgotten.' } },
    async handle(call, api) {
      await api.leader().operators.forget(call.path['name'] ?? '');
      return { kind: 'empty', status: 204 };
    },
  },
];
