/** Queues: the tasks of an executor, or those with a limit of one key. */
import type { ChangedQueue, CountedQueue } from '../scheduler/contract/index.ts';
import type { Caller } from './calls/caller.ts';
import { objectIn } from './calls/reading.ts';
import type { CallOptions, Limit } from './options.ts';

/** The name of a task and of a built-in executor such as `http`, or the key of `concurrency` and `limits`. */
export type QueueName = { readonly executor: string } | { readonly key: string };

export interface Queues {
  /** Those that tasks of live jobs belong to, and all that are paused. */
  list(options?: CallOptions): Promise<readonly CountedQueue[]>;
  /** Starts no more of its tasks until it is resumed; those that run go on. It holds across restarts. */
  pause(
    queue: QueueName,
    options?: CallOptions & { readonly reason?: string },
  ): Promise<ChangedQueue>;
  resume(queue: QueueName, options?: CallOptions): Promise<ChangedQueue>;
}

const PATH = '/api/v1/queues';

export function queuesOver(caller: Caller, limited: Limit): Queues {
  const change = async (
    kind: 'pause' | 'resume',
    body: object,
    options?: CallOptions,
  ): Promise<ChangedQueue> => {
    const answer = await caller.call({
      method: 'POST',
      path: `${PATH}/${kind}`,
      body: JSON.stringify(body),
      isRepeatable: true,
      what: `the ${kind}`,
      ...limited(options),
    });
    return objectIn(answer, 'changed') as unknown as ChangedQueue;
  };
  return {
    async list(options) {
      const about = { isRepeatable: true, what: 'it', ...limited(options) };
      const answer = await caller.call({ method: 'GET', path: PATH, ...about });
      return objectIn(answer, 'queues')['queues'] as readonly CountedQueue[];
    },
    pause(queue, options = {}) {
      const { reason, ...call } = options;
      return change('pause', reason === undefined ? queue : { ...queue, reason }, call);
    },
    resume: (queue, options) => change('resume', queue, options),
  };
}
