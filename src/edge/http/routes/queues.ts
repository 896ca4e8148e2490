/** Queues: the tasks of an executor, or those with a limit of one key. */
import { ok, type Route } from '../route.ts';

const QUEUE_ANSWER = { 200: { description: 'The queue.', schema: 'Queue' } } as const;

export const queueRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/api/v1/queues',
    role: 'read',
    summary: 'List queues with what waits and runs in them',
    description:
      'Executors and keys of limits that tasks of live jobs have, and all that are paused; 1,000 at most, paused ones first. Only the leader knows.',
    answers: { 200: { description: 'The queues.', schema: 'QueueList' } },
    handle: async (_call, api) => ok({ queues: await api.leader().queues.list() }),
  },
  {
    method: 'POST',
    path: '/api/v1/queues/pause',
    role: 'admin',
    summary: 'Pause the tasks of an executor, or those with a limit of one key',
    description: 'No more of them are started until the queue is resumed. Those that run go on.',
    body: { schema: 'PauseRequest', required: true },
    answers: QUEUE_ANSWER,
    handle: async (call, api) => ok(await api.leader().queues.pause(await call.body())),
  },
  {
    method: 'POST',
    path: '/api/v1/queues/resume',
    role: 'admin',
    summary: 'Resume a queue',
    body: { schema: 'ResumeRequest', required: true },
    answers: QUEUE_ANSWER,
    handle: async (call, api) => ok(await api.leader().queues.resume(await call.body())),
  },
];
