/** Flows that workers have published, and jobs started by their names. */
import { isObject } from '../../../scheduler/core/index.ts';
import { badInput } from '../refusal.ts';
import { ok, type Route } from '../route.ts';
import { ID_HEADERS, newIds, submitOne } from './submit.ts';

export const flowRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/flows',
    role: 'read',
    summary: 'List the flows that can be started by name',
    description:
      'Each one that a worker has ever published, with the JSON Schema of its input and the live nodes that have it.',
    answers: { 200: { description: 'All of them, by name.', schema: 'FlowList' } },
    handle(_call, api) {
      return ok({ flows: api.leader().flows.list() });
    },
  },
  {
    method: 'POST',
    path: '/api/v1/flows/:name/jobs',
    role: 'submit',
    summary: 'Start a flow by its name',
    description:
      'The server makes the job of what the workers have published. An input that does not fit its JSON Schema is ' +
      "rejected with the path of the field; the flow's own schema is applied by the first task of the job, `_input`.",
    headers: ID_HEADERS,
    body: { schema: 'FlowStart', required: false },
    answers: {
      200: {
        description: 'Nothing was created: the `idempotencyKey` or id was used before.',
        schema: 'Submitted',
      },
      201: { description: 'Accepted.', schema: 'Submitted' },
    },
    async handle(call, api) {
      const ids = newIds(call, api);
      const { jobs, flows } = api.leader();
      const flow = call.path['name'] ?? '';
      flows.check(flow);
      const body = (await call.body()) ?? {};
      if (!isObject(body))
        throw badInput('', 'The body must be an object.', 'Send {"input": ...}.');
      if ('flow' in body) throw badInput('/flow', 'The path names the flow already.');
      return submitOne(api, jobs, { ...body, flow }, ids());
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/flows/:name',
    role: 'admin',
    summary: 'Forget a flow',
    description:
      'It can be started again once a worker that has it registers. Jobs of it are not affected.',
    answers: { 204: { description: 'Forgotten.' } },
    async handle(call, api) {
      await api.leader().flows.forget(call.path['name'] ?? '');
      return { kind: 'empty', status: 204 };
    },
  },
];
