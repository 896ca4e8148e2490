import { once } from 'node:events';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { millraceDatabase } from '../../../test/rig/millrace-database.ts';
import { freshDatabase } from '../../../test/rig/postgres.ts';
import type { FreshDatabase } from '../../../test/rig/postgres.ts';
import { rig } from '../../../test/rig/worker-rig.ts';
import { taskNo } from '../../scheduler/core/index.ts';
import type { JobId, TaskId } from '../../scheduler/core/index.ts';
import { AlreadyCompletedError } from '../../tasks/executors/index.ts';
import type { TaskContext, Transaction } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import type { ReadyAssignment, WorkerReport } from '../../scheduler/contract/index.ts';

let database: FreshDatabase;
let sql: postgres.Sql;
let pool: pg.Pool;

beforeAll(async () => {
  database = await millraceDatabase();
  sql = postgres(database.url, { max: 4, onnotice: () => {} });
  pool = new pg.Pool({ connectionString: database.url, max: 4 });
  await sql`create table paid (job text, attempt integer)`;
});

afterAll(async () => {
  await pool.end();
  await sql.end();
  await database.drop();
});

let leader: FakeLeader;
let jobs = 0;
let job: string;

beforeEach(() => {
  leader = new FakeLeader();
  jobs += 1;
  job = `job-${jobs}`;
});

/** One transaction, committed if `work` ends well. */
type Begin = (work: (transaction: Transaction) => Promise<void>) => Promise<void>;

const withPostgres: Begin = async (work) => {
  await sql.begin((transaction) => work(transaction));
};

const withPg: Begin = async (work) => {
  const client = await pool.connect();
  // The statement that fails says so, too.
  const ignored = (): void => {};
  client.on('error', ignored);
  try {
    await client.query('begin');
    await work(client);
    await client.query('commit');
    client.release();
  } catch (error) {
    // Closed, which rolls back like anything else that ends a connection.
    client.release(true);
    throw error;
  } finally {
    client.off('error', ignored);
  }
};

async function pay(transaction: Transaction, attempt: number): Promise<void> {
  const text = 'insert into paid values ($1::text, $2::text::integer)';
  const parameters = [job, `${attempt}`];
  if ('unsafe' in transaction) await transaction.unsafe(text, parameters);
  else await transaction.query(text, parameters);
}

async function backendOf(transaction: Transaction): Promise<number> {
  const text = 'select pg_backend_pid() as pid';
  const rows =
    'unsafe' in transaction
      ? [...(await transaction.unsafe(text, []))]
      : (await transaction.query(text, [])).rows;
  return (rows[0] as { readonly pid: number }).pid;
}

async function paid(): Promise<readonly number[]> {
  const rows = await sql<{ attempt: number }[]>`select attempt from paid where job = ${job}`;
  return rows.map(({ attempt }) => attempt);
}

type Handler = (context: TaskContext) => unknown;

/** Runs one attempt of the task on a worker of its own, and answers what it said of its end. */
async function attempt(handler: Handler, no = 1, given: Partial<ReadyAssignment> = {}) {
  const its = new FakeLeader();
  const end = deferred<WorkerReport>();
  its.onReport = (items) => {
    const last = items.find(({ kind }) => kind !== 'started' && kind !== 'step');
    if (last !== undefined) end.resolve(last);
    return Promise.resolve();
  };
  const { worker } = rig({
    leader: its,
    tasks: [{ name: 'task', run: (_input, context) => handler(context) }],
  });
  await worker.start();
  const fenced = { ...lease(1), taskNo: taskNo(1), fence: no };
  its.give(
    assignment(1, 'task', {
      jobId: job as JobId,
      taskId: 'pay' as TaskId,
      attempt: no,
      lease: fenced,
      ...given,
    }),
  );
  return end.promise;
}

describe.each([
  ['postgres', withPostgres],
  ['pg', withPg],
])('with %s', (_library, begin) => {
  const paying =
    (after: () => void = () => {}): Handler =>
    async ({ completeWith, attempt: no }) => {
      await begin(async (transaction) => {
        await pay(transaction, no);
        await completeWith(transaction, { receipt: no });
      });
      after();
      return 'something else';
    };

  test('the task completes with what was committed, whatever the handler returns', async () => {
    expect(await attempt(paying())).toMatchObject({ kind: 'completed', result: '{"receipt":1}' });
    expect(await paid()).toEqual([1]);
  });

  test('an attempt after one that was committed rolls back and completes with the same', async () => {
    const first = await attempt(
      paying(() => {
        throw new Error('after the commit');
      }),
    );
    expect(first).toMatchObject({ kind: 'failed', error: { message: 'after the commit' } });
    const second = await attempt(paying(), 2);
    expect(second).toMatchObject({ kind: 'completed', result: '{"receipt":1}' });
    expect(await paid()).toEqual([1]);
  });

  test('an attempt after one that was rolled back does the work', async () => {
    const first = await attempt(async ({ completeWith }) => {
      await begin(async (transaction) => {
        await pay(transaction, 1);
        await completeWith(transaction, { receipt: 1 });
        throw new Error('before the commit');
      });
    });
    expect(first).toMatchObject({ kind: 'failed', failure: 'retryable' });
    expect(await attempt(paying(), 2)).toMatchObject({ result: '{"receipt":2}' });
    expect(await paid()).toEqual([2]);
  });

  test('of two concurrent attempts one commits, and both have the same result', async () => {
    const isIn = deferred();
    const isWaiting = deferred();
    const first = attempt(async ({ completeWith }) => {
      await begin(async (transaction) => {
        await pay(transaction, 1);
        await completeWith(transaction, 'first');
        isIn.resolve();
        await isWaiting.promise;
      });
    });
    await isIn.promise;
    const second = attempt(paying(), 2);
    // The second one stands still at the row of the first, whose end nobody knows yet.
    await blocked();
    isWaiting.resolve();
    expect(await first).toMatchObject({ kind: 'completed', result: '"first"' });
    expect(await second).toMatchObject({ kind: 'completed', result: '"first"' });
    expect(await paid()).toEqual([1]);
  });

  test('when the first of two attempts loses its connection, the second commits', async () => {
    const isIn = deferred<number>();
    const isGone = deferred();
    const first = attempt(async ({ completeWith }) => {
      await begin(async (transaction) => {
        await pay(transaction, 1);
        await completeWith(transaction, 'first');
        isIn.resolve(await backendOf(transaction));
        // `begin` of postgres rejects when its connection is gone, of pg the next statement does.
        if ('unsafe' in transaction) await deferred<never>().promise;
        await isGone.promise;
        await pay(transaction, 1);
      });
    });
    const backend = await isIn.promise;
    const second = attempt(paying(), 2);
    await blocked();
    await sql`select pg_terminate_backend(${backend})`;
    expect(await second).toMatchObject({ kind: 'completed', result: '{"receipt":2}' });
    isGone.resolve();
    expect(await first).toMatchObject({ kind: 'failed' });
    expect(await paid()).toEqual([2]);
  });

  test('a handler that swallows or wraps the refusal completes with what was committed', async () => {
    await attempt(paying());
    const seen: unknown[] = [];
    const swallowed = await attempt(async ({ completeWith }) => {
      await begin((transaction) => completeWith(transaction, 2)).catch((error: unknown) => {
        seen.push(error);
      });
    }, 2);
    const wrapped = await attempt(async ({ completeWith }) => {
      try {
        await begin((transaction) => completeWith(transaction, 3));
      } catch (cause) {
        throw new Error('could not pay', { cause });
      }
    }, 3);
    expect(seen[0]).toBeInstanceOf(AlreadyCompletedError);
    expect(swallowed).toMatchObject({ kind: 'completed', result: '{"receipt":1}' });
    expect(wrapped).toMatchObject({ kind: 'completed', result: '{"receipt":1}' });
  });

  test('a second call in one transaction is an error, and nothing is committed', async () => {
    const end = await attempt(async ({ completeWith, attempt: no }) => {
      await begin(async (transaction) => {
        await pay(transaction, no);
        await completeWith(transaction, 1);
        await completeWith(transaction, 2);
      });
    });
    expect(end).toMatchObject({
      kind: 'failed',
      failure: 'fatal',
      error: {
        code: 'bad_input',
        message: expect.stringContaining('called twice in one transaction') as string,
      },
    });
    expect(await paid()).toEqual([]);
    expect(await attempt(paying(), 2)).toMatchObject({ result: '{"receipt":2}' });
  });

  test('a transaction that was rolled back may be repeated by the handler', async () => {
    const end = await attempt(async ({ completeWith, attempt: no }) => {
      for (const round of ['fails', 'works']) {
        await begin(async (transaction) => {
          await pay(transaction, no);
          await completeWith(transaction, round);
          if (round === 'fails') throw new Error('a deadlock, say');
        }).catch(() => {});
      }
    });
    expect(end).toMatchObject({ kind: 'completed', result: '"works"' });
    expect(await paid()).toEqual([1]);
  });

  test('every run of a task commits once', async () => {
    await attempt(paying());
    expect(await attempt(paying(), 2, { run: 2 })).toMatchObject({ result: '{"receipt":2}' });
    expect(await paid()).toEqual([1, 2]);
  });
});

/** Somebody waits for a lock. */
async function blocked(): Promise<void> {
  for (;;) {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if ((row?.count ?? 0) > 0) return;
  }
}

test.each([
  ['a pool of postgres', () => sql as unknown as Transaction, 'was given a pool'],
  ['a pool of pg', () => pool as unknown as Transaction, 'was given a pool'],
  ['nothing', () => null as unknown as Transaction, 'a value that is not a transaction'],
])('what is not a transaction is refused for good: %s', async (_name, given, text) => {
  const end = await attempt(({ completeWith }) => completeWith(given(), 1));
  expect(end).toMatchObject({
    failure: 'fatal',
    error: { code: 'bad_input', message: expect.stringContaining(text) as string },
  });
});

test.each([
  ['no JSON', 1n, 'the result given to completeWith is a bigint'],
  ['too large', 'x'.repeat(17 * 2 ** 20), 'The result given to completeWith is'],
])(
  'a result that could not be kept is refused before it is committed: %s',
  async (_n, value, text) => {
    const end = await attempt(async ({ completeWith, attempt: no }) => {
      await withPostgres(async (transaction) => {
        await pay(transaction, no);
        await completeWith(transaction, value);
      });
    });
    expect(end).toMatchObject({
      failure: 'fatal',
      error: { message: expect.stringContaining(text) as string },
    });
    expect(await paid()).toEqual([]);
  },
);

test('an attempt that was asked to stop commits nothing', async () => {
  const { worker, clock } = rig({
    leader,
    tasks: [
      {
        name: 'task',
        run: async (_input, { completeWith, signal }) => {
          if (!signal.aborted) await once(signal, 'abort');
          await withPostgres(async (transaction) => {
            await pay(transaction, 1);
            await completeWith(transaction, 1);
          });
        },
      },
    ],
  });
  const end = deferred<WorkerReport>();
  leader.onReport = (items) => {
    const last = items.find(({ kind }) => kind !== 'started');
    if (last !== undefined) end.resolve(last);
    return Promise.resolve();
  };
  await worker.start();
  leader.give(assignment(1, 'task', { jobId: job as JobId }));
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  await clock.advance(3_000);
  expect(await end.promise).toEqual({ kind: 'aborted', lease: lease(1) });
  expect(await paid()).toEqual([]);
});

test('in a database without the table the message says how to make it', async () => {
  const other = await freshDatabase();
  const own = postgres(other.url, { max: 1, onnotice: () => {} });
  try {
    const complete: Handler = async ({ completeWith }) => {
      await own.begin((transaction) => completeWith(transaction, 'kept'));
    };
    const refused = await attempt(complete);
    if (refused.kind !== 'failed') throw new Error(refused.kind);
    expect(refused).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
    const [, statements = ''] = /Run there: (.*)$/.exec(refused.error.message) ?? [];
    await own.unsafe(statements);
    expect(await attempt(complete, 2)).toMatchObject({ kind: 'completed', result: '"kept"' });
    expect(await attempt(complete, 3)).toMatchObject({ kind: 'completed', result: '"kept"' });
  } finally {
    await own.end();
    await other.drop();
  }
});
