/** Nodes and their leader. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { NodeId } from '../../../scheduler/core/index.ts';
import { nodesThat } from '../../../scheduler/contract/index.ts';
import { nodeIn } from '../fields.ts';
import { notFound } from '../refusal.ts';
import { dated } from '../route.ts';
import type { Answer, ApiParts, Route } from '../route.ts';

const NAME = { type: 'string', maxLength: 300 } as const;

/** Enough for a person to look at. */
const HELD_MAX = 64;

const NODE_ANSWER = { 200: { description: 'The node.', schema: 'Node' } } as const;

export const nodeRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/nodes',
    role: 'read',
    summary: 'List nodes',
    parameters: {
      executor: { ...NAME, description: 'Only nodes that run tasks of this executor.' },
      operator: { ...NAME, description: 'Only nodes that have this custom operator or function.' },
      capability: {
        ...NAME,
        description:
          'Only nodes with this capability, `key:value`. A number means at least as much, as in a placement.',
      },
    },
    answers: { 200: { description: 'The nodes.', schema: 'NodeList' } },
    async handle({ query }, { reader }) {
      const { asOf, value } = await reader.nodes();
      return dated(asOf, { nodes: nodesThat(value, query) });
    },
  },
  {
    method: 'POST',
    path: '/api/v1/nodes/:id/drain',
    role: 'admin',
    summary: 'Drain a node',
    answers: NODE_ANSWER,
    async handle(call, api) {
      await api.leader().workers.drain(nodeIn(call));
      return showNode(api, nodeIn(call));
    },
  },
  {
    method: 'POST',
    path: '/api/v1/nodes/:id/release',
    role: 'admin',
    summary: 'End the quarantine or drain of a node',
    answers: NODE_ANSWER,
    async handle(call, api) {
      await api.leader().workers.release(nodeIn(call));
      return showNode(api, nodeIn(call));
    },
  },
  {
    method: 'GET',
    path: '/api/v1/leases',
    role: 'read',
    summary: 'List what the nodes work on',
    description: `The tasks that each node holds, the longest first, at most ${HELD_MAX} of each node. Only the leader knows.`,
    answers: { 200: { description: 'The tasks.', schema: 'LeaseList' } },
    async handle(_call, api) {
      const { jobs } = api.leader();
      const asOf = await api.reader.head();
      const held = await jobs.held(HELD_MAX);
      const leases = held.map(({ nodeId, jobId, jobName, taskId, executor, since, isStarted }) => ({
        node: nodeId,
        job: jobId,
        jobName,
        task: taskId,
        executor,
        since: new Date(since).toISOString(),
        isStarted,
      }));
      return dated(asOf, { leases });
    },
  },
  {
    method: 'GET',
    path: '/api/v1/leader',
    // A worker that was given the HTTP address finds the gRPC address here.
    role: ['read', 'worker'],
    summary: 'Show the leader',
    answers: { 200: { description: 'The leader.', schema: 'Leader' } },
    async handle(_call, { reader }) {
      const asOf = await reader.head();
      const leader = await reader.leader();
      if (leader !== null) return dated(asOf, leader);
      throw new MillraceError({
        code: 'not_leader',
        what: 'The cluster has no leader at the moment.',
        todo: 'Retry shortly.',
      });
    },
  },
];

async function showNode({ reader }: ApiParts, id: NodeId): Promise<Answer> {
  const { asOf, value } = await reader.nodes();
  const node = value.find((each) => each.id === id);
  if (node === undefined) throw notFound(`There is no node ${id}.`);
  return dated(asOf, node);
}
