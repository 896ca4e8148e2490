/** Routes for machines: liveness, readiness, metrics and the API description. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { ok, type Route } from '../route.ts';

const OK = ok({ status: 'ok' });

export const healthRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/healthz',
    role: null,
    summary: 'The process is alive',
    answers: { 200: { description: 'It is.', schema: 'Health' } },
    handle: () => OK,
  },
  {
    method: 'GET',
    path: '/readyz',
    role: null,
    summary: 'The node is ready: it accepts work or knows who does, and its database answers',
    parameters: {
      leader: { type: 'enum', values: ['1'], description: 'Require that this node is the leader.' },
    },
    answers: { 200: { description: 'It is.', schema: 'Health' } },
    handle(call, { standing }) {
      const { isReady, storeAnswers = true, leads, nodeId } = standing();
      // The caller may be a stranger, so the answer is only yes or no.
      if (call.query['leader'] !== undefined && !leads) {
        throw new MillraceError({ code: 'not_leader', what: `Node ${nodeId} is not the leader.` });
      }
      if (!storeAnswers) {
        throw new MillraceError({
          code: 'store_unavailable',
          what: `Node ${nodeId} cannot reach its database.`,
        });
      }
      if (isReady) return OK;
      throw new MillraceError({ code: 'loading', what: `Node ${nodeId} is not ready yet.` });
    },
  },
  {
    method: 'GET',
    path: '/metrics',
    role: 'read',
    summary: 'Metrics in the Prometheus text format',
    answers: { 200: { description: 'Prometheus text.', contentType: 'text/plain' } },
    async handle(_call, { metrics }) {
      const type = 'text/plain; version=0.0.4; charset=utf-8';
      return { kind: 'text', status: 200, type, text: await metrics.text() };
    },
  },
  {
    method: 'GET',
    path: '/openapi.json',
    role: null,
    summary: 'This description',
    answers: { 200: { description: 'OpenAPI 3.1.', contentType: 'application/json' } },
    handle: (_call, { openapi }) => ok(openapi()),
  },
];
