/** Tasks that run on threads, for the tests of those. */
import { z } from 'zod';
import { appendFileSync } from 'node:fs';
import { isMainThread, threadId } from 'node:worker_threads';
import type { Json } from '../../src/scheduler/core/index.ts';
import type { TaskContext, TaskDefinition, Transaction } from '../../src/tasks/executors/index.ts';

function task(name: string, run: (input: never, context: TaskContext) => unknown): TaskDefinition {
  return { kind: 'millrace.task', name, thread: import.meta.url, run };
}

class OwnError extends Error {
  readonly code = 'own';
  readonly failure = 'fatal';
  readonly extra = { a: 1 };
}

export const flow = {
  kind: 'millrace.flow',
  name: 'flow',
  toDocument: (): unknown => null,
  tasks: [task('of-flow', () => 'of flow')],
};

export const plain: readonly TaskDefinition[] = [
  task('where', (input) => ({ input, threadId, isMainThread })),
  task('facts', (_, { jobId, taskId, attempt, run, fence, idempotencyKey, scheduledAt }) => ({
    ...{ jobId, taskId, attempt, run, fence, idempotencyKey },
    scheduledAt: scheduledAt?.getTime() ?? null,
  })),
  task('started', (_, { startedBy, labels }) => ({ startedBy, labels })),
  task('throws', (what: string) => {
    const thrown: Readonly<Record<string, unknown>> = {
      own: new OwnError('mine', { cause: new Error('inner') }),
      text: 'just text',
      function: () => {},
    };
    throw thrown[what];
  }),
  task('returns', (what: string) => {
    const values: Readonly<Record<string, unknown>> = { bigint: 1n, symbol: Symbol('x') };
    return values[what];
  }),
];

export const ends: readonly TaskDefinition[] = [
  task('spin', (_, { log, progress }) => {
    log.info('spinning');
    for (;;) progress(Math.random());
  }),
  task('heeds', (_, { signal, log }) => {
    log.info('waiting');
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  }),
  task('deaf', (_, { log }) => {
    log.info('waiting');
    return new Promise(() => {});
  }),
  task('exits', () => process.exit(3)),
  task('breaks', () => {
    queueMicrotask(() => {
      throw new Error('loose end');
    });
    return new Promise(() => {});
  }),
  task('hungry', () => {
    const all: number[][] = [];
    for (;;) all.push(Array.from({ length: 10_000 }, Math.random));
  }),
];

const other = {
  name: 'other',
  toDocument: (input: Json) => Promise.resolve({ name: 'other', tasks: [input] }),
  toTask: (input: Json) => ({ executor: 'other', input }),
  readResult: (result: Json): Json => ['read', result],
};

export const contexts: readonly TaskDefinition[] = [
  task('steps', async (effects: string, { step, progress, log }) => {
    log.warn('begin');
    progress(0.5, 'half');
    const a = await step('a', () => {
      appendFileSync(effects, 'a');
      return { isMainThread };
    });
    const b = await step('b', () => Promise.resolve());
    const own = new OwnError('in a step');
    const caught = await step('c', () => {
      throw own;
    }).catch((error: unknown) => error);
    return { a, b, isSame: caught === own };
  }),
  task('bad-step', (_, { step }) => step('big', () => 1n)),
  task('waits', async (_, { sleep, waitFor, call, map }) => {
    await sleep('s', '3d');
    const signalled = await waitFor('go', { timeout: '1h', as: 'second' });
    const called = await call('c', other, { id: 'x' });
    const mapped = await map('m', other, [1, 2], { concurrency: 2 });
    return { isLate: signalled === undefined, called, mapped };
  }),
  task('submits', async (_, { submit }) => {
    const options = { runAt: new Date('2030-01-01T00:00:00Z'), labels: { of: 'thread' } };
    return submit('m', other, { id: 'x' }, options);
  }),
  task('fitting', (_, { waitFor }) =>
    waitFor('go', { schema: z.object({ n: z.number() }), timeout: '1h' }),
  ),
  task('unsendable', (_, { sleep }) => sleep('s', (() => {}) as unknown as string)),
  task('completes', async (kind: string, { completeWith }) => {
    const asked: unknown[] = [];
    const rows = (...args: readonly unknown[]): unknown[] => {
      asked.push(args);
      return [{ one: 1 }];
    };
    const transactions: Readonly<Record<string, unknown>> = {
      postgres: { unsafe: (...args: unknown[]) => Promise.resolve(new Set(rows(...args))) },
      pg: { query: (...args: unknown[]) => Promise.resolve({ rows: rows(...args) }) },
      pool: { query: rows, totalCount: 3 },
      nothing: null,
    };
    await completeWith(transactions[kind] as Transaction, { done: true });
    return asked;
  }),
  task('wraps', async (_, { completeWith }) => {
    try {
      await completeWith({ query: () => Promise.resolve({ rows: [] }) }, 1);
    } catch (error) {
      throw new Error('rolled back', { cause: error });
    }
  }),
  task('sleeps-until', (_, { sleep }) => sleep('s', new Date('2999-01-01T00:00:00Z'))),
  task('retries-a-step', (_, { step }) => {
    let calls = 0;
    const unsteady = (): number => {
      calls += 1;
      if (calls < 3) throw new Error('busy');
      return calls;
    };
    return step('unsteady', unsteady, { retry: { maxAttempts: 3, backoffMs: 0 } });
  }),
  task('sleeps', async (_, { sleep, log }) => {
    try {
      await sleep('s', '3d');
      log.info('awake');
    } catch {
      log.info('caught');
    } finally {
      log.info('finally');
    }
  }),
  task('races', (_, { sleep, step }) => {
    const steps = async (): Promise<number> => {
      await step('a', () => 1);
      return step('b', () => 2);
    };
    return Promise.race([sleep('late', '3d'), steps()]);
  }),
];

export const misuses: readonly TaskDefinition[] = [
  task('uses-a-name-twice', async (_, { step }) => {
    await step('charge', () => 1);
    return step('charge', () => 2).catch(() => 'swallowed');
  }),
  task('forgets-to-await', (_, { step }) => {
    void step('charge', () => 1);
    return 'done';
  }),
  task('waits-in-a-step', (_, { step, sleep }) => step('outer', () => sleep('night', '1h'))),
  task('fails-beside-a-step', async (_, { step }) =>
    Promise.all([
      step('slow', async () => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        return 'paid';
      }),
      step('bad', () => {
        throw new Error('no luck');
      }),
    ]),
  ),
];
