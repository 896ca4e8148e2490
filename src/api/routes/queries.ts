/** The paths of what is not there yet: they say so, instead of not being found. */
import { MillraceError } from '../../core/index.ts';
import type { Route } from '../route.ts';

export const queryRoutes: readonly Route[] = [
  {
    ...unimplemented('POST', '/api/v1/queries', 'Submit a query'),
    body: { schema: 'QueryRequest', required: true },
  },
  unimplemented('GET', '/api/v1/queries/:id', 'Show a query'),
  unimplemented('GET', '/api/v1/queries/:id/results', 'Read the rows of a query'),
  unimplemented('POST', '/api/v1/queries/:id/cancel', 'Cancel a query'),
];

function unimplemented(method: 'GET' | 'POST', path: string, summary: string): Route {
  return {
    method,
    path,
    role: method === 'GET' ? 'read' : 'submit',
    summary,
    answers: { 501: { description: 'Not in this version.' } },
    handle() {
      throw new MillraceError({
        code: 'unimplemented',
        what: 'Queries are not in this version.',
      });
    },
  };
}
