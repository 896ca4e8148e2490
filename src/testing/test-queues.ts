/** Queues of a test runtime: what a client has, answered by the leader itself. */
import type { Queues } from '../client/index.ts';
import type { QueueService } from '../scheduler/contract/index.ts';

export function testQueues(service: QueueService): Queues {
  return {
    list: () => Promise.resolve(service.list()),
    pause: (queue, { reason } = {}) =>
      service.pause(reason === undefined ? queue : { ...queue, reason }),
    resume: (queue) => service.resume(queue),
  };
}
