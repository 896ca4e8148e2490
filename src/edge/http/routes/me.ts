/** The caller, its roles, and the node that answers. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { grants, ROLES } from '../../security/index.ts';
import type { Route } from '../route.ts';

export const callerRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/me',
    role: 'read',
    summary: 'Show who you are to this server, and what you may do',
    answers: { 200: { description: 'The caller and the node.', schema: 'Me' } },
    handle({ known }, { standing, version, traceUrl, queries }) {
      if (known === null)
        throw new MillraceError({ code: 'invariant', what: 'A role was asked for.' });
      const { nodeId, leads, storeAnswers = true } = standing();
      return {
        kind: 'json',
        status: 200,
        value: {
          name: known.name,
          role: known.role,
          roles: ROLES.filter((role) => grants(known.role, role)),
          node: {
            ...{ id: nodeId, version, leads, storeAnswers, traceUrl },
            hasQueries: hasQueries(queries),
          },
        },
      };
    },
  },
];

function hasQueries(queries: () => unknown): boolean {
  try {
    queries();
    return true;
  } catch {
    return false;
  }
}
