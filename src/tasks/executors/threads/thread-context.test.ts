import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { MillraceError, isMillraceError } from '../../../scheduler/core/index.ts';
import type { Json } from '../../../scheduler/core/index.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import type { Callable, Mappable, TaskContext } from '../executor.ts';
import { classifyFailure } from '../failure.ts';
import { ThreadPool } from './pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-threads-'));
const module = new URL('../../../../test/rig/thread-tasks.ts', import.meta.url).href;
const effects = join(folder, 'effects');
const pool = new ThreadPool();
afterAll(() => {
  pool.close();
  rmSync(folder, { recursive: true });
});

function run(name: string, input: Json = null, context = testContext()) {
  return pool.executor({ module, name }).run(input, context) as Promise<unknown>;
}

test('the context identifies its attempt', async () => {
  const facts = { attempt: 2, run: 3, fence: 4, idempotencyKey: 'k' };
  const who = { jobId: 'job-1', taskId: 'task-1', ...facts };
  const scheduledAt = new Date(1_000);
  expect(await run('facts', null, testContext(facts))).toEqual({ ...who, scheduledAt: null });
  expect(await run('facts', null, testContext({ ...facts, scheduledAt }))).toEqual({
    ...who,
    scheduledAt: 1_000,
  });
});

test('the context says what has started the job, and its labels', async () => {
  const about = { startedBy: { event: 'order.created', id: 'e1' }, labels: { team: 'billing' } };
  expect(await run('started')).toEqual({ startedBy: null, labels: {} });
  expect(await run('started', null, testContext(about))).toEqual(about);
});

test('the span of its attempt is active there', async () => {
  const traced = { module: new URL('traced-thread-task.ts', module).href, name: 'traced' };
  const traceHeaders = { traceparent: `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01` };
  const executor = pool.executor(traced);
  expect(await executor.run(null, testContext({ traceHeaders }))).toEqual({
    traceHeaders,
    active: 'b2'.repeat(8),
  });
  expect(await executor.run(null, testContext())).toEqual({ traceHeaders: {}, active: null });
});

test('errors of the thread are thrown in the main thread', async () => {
  const own = await thrownBy(() => run('throws', 'own'));
  expect(own).toMatchObject({ message: 'mine', code: 'own', failure: 'fatal', extra: { a: 1 } });
  expect((own as Error).cause).toMatchObject({ message: 'inner' });
  expect((own as Error).stack).toContain('thread-tasks.ts');
  expect(await thrownBy(() => run('throws', 'text'))).toBe('just text');
  expect(await thrownBy(() => run('throws', 'nothing'))).toBe(undefined);
  expect(await thrownBy(() => run('throws', 'function'))).toMatch(/threw a function/);
  expect(pool.size).toBe(1);
});

test('what is not JSON fails for good, and undefined is null', async () => {
  expect(await run('returns', 'nothing')).toBe(null);
  for (const what of ['bigint', 'symbol']) {
    const thrown = await thrownBy(() => run('returns', what));
    expect(classifyFailure(thrown)).toMatchObject({
      failure: 'fatal',
      error: { code: 'bad_result' },
    });
  }
});

test('a missing export or module is reported', async () => {
  const thrown = await thrownBy(() => run('nobody'));
  expect(isMillraceError(thrown, 'bad_input')).toBe(true);
  expect(thrown).toMatchObject({
    message: expect.stringContaining('exports no task nobody') as string,
  });
  const lost = pool.executor({ module: `${module}.gone`, name: 'x' });
  expect(await thrownBy(() => lost.run(null, testContext()))).toMatchObject({ code: 'bad_input' });
});

test('steps run in the thread and are recorded here; progress and log arrive', async () => {
  const names: string[] = [];
  const step: TaskContext['step'] = async (name, fn) => {
    names.push(name);
    return JSON.parse(JSON.stringify((await fn()) ?? null)) as never;
  };
  const context = testContext({ step });
  expect(await run('steps', effects, context)).toEqual({
    a: { isMainThread: false },
    b: null,
    isSame: true,
  });
  expect(names).toEqual(['a', 'b', 'c']);
  expect(context.logged).toEqual(['warn begin']);
  expect(context.progressed).toEqual([[0.5, 'half']]);
  expect(readFileSync(effects, 'utf8')).toBe('a');
});

test('a recorded step is not executed again, and one that is not JSON fails for good', async () => {
  const recorded: Readonly<Record<string, unknown>> = { a: 'recorded', b: 'too' };
  const step: TaskContext['step'] = (name, fn) =>
    Promise.resolve(name in recorded ? recorded[name] : fn()) as Promise<never>;
  rmSync(effects, { force: true });
  expect(await run('steps', effects, testContext({ step }))).toMatchObject({
    a: 'recorded',
    b: 'too',
  });
  expect(() => readFileSync(effects)).toThrow('ENOENT');
  const thrown = await thrownBy(() => run('bad-step', null, testContext({ step })));
  expect(classifyFailure(thrown)).toMatchObject({ failure: 'fatal' });
});

test('sleep, waitFor, call and map reach the real context, and their functions stay there', async () => {
  const asked: unknown[] = [];
  const context = testContext({
    sleep: async (...args) => void asked.push(['sleep', ...args]),
    waitFor: (async (...args: readonly unknown[]) =>
      void asked.push(['waitFor', ...args])) as unknown as TaskContext['waitFor'],
    call: (async (name: string, what: Callable<null, Json>) => {
      asked.push(['call', name, what.name, await what.toDocument(null)]);
      return what.readResult('result');
    }) as unknown as TaskContext['call'],
    map: (async (name: string, what: Mappable<Json, Json>, items: Json[], options: unknown) => {
      asked.push(['map', name, what.name, items.map((item) => what.toTask(item)), options]);
      return Promise.all([what.readResult('one'), what.readResult('two')]);
    }) as unknown as TaskContext['map'],
  });
  expect(await run('waits', null, context)).toEqual({
    isLate: true,
    called: ['read', 'result'],
    mapped: [
      ['read', 'one'],
      ['read', 'two'],
    ],
  });
  const tasks = [1, 2].map((input) => ({ executor: 'other', input }));
  expect(asked).toEqual([
    ['sleep', 's', '3d'],
    ['waitFor', 'go', { timeout: '1h', as: 'second' }],
    ['call', 'c', 'other', { name: 'other', tasks: [{ id: 'x' }] }],
    ['map', 'm', 'other', tasks, { concurrency: 2 }],
  ]);
  const thrown = await thrownBy(() => run('unsendable'));
  expect(isMillraceError(thrown, 'bad_input')).toBe(true);
});

test('submit reaches the real context with its document and options, and answers the id', async () => {
  const asked: unknown[] = [];
  const context = testContext({
    submit: (async (name: string, what: Callable<null, Json>, _: null, options: unknown) => {
      asked.push([name, what.name, await what.toDocument(null), options]);
      return 'job-7';
    }) as unknown as TaskContext['submit'],
  });
  expect(await run('submits', null, context)).toBe('job-7');
  const document = { name: 'other', tasks: [{ id: 'x' }] };
  const options = { runAt: new Date('2030-01-01T00:00:00Z'), labels: { of: 'thread' } };
  expect(asked).toEqual([['m', 'other', document, options]]);
});

test('the schema of a signal is asked in the thread', async () => {
  const asked: unknown[] = [];
  const values = ['no', { n: 'no' }, { n: 1, more: 2 }];
  const context = testContext({
    waitFor: (async (_name: string, options: unknown) => {
      asked.push(options);
      return values.shift();
    }) as unknown as TaskContext['waitFor'],
  });
  expect(await run('fitting', null, context)).toEqual({ n: 1 });
  const shape = { types: ['object'], fields: { n: { types: ['number'] } }, required: ['n'] };
  expect(asked).toEqual([1, 2, 3].map((nth) => ({ timeout: '1h', nth, shape })));
  // The time is over: undefined, which is null as a result.
  expect(await run('fitting', null, context)).toBeNull();
});

test('completeWith uses the transaction in the thread, of either library', async () => {
  const seen: string[][] = [];
  const completeWith: TaskContext['completeWith'] = async (transaction, result) => {
    seen.push(Object.keys(transaction));
    if (!('unsafe' in transaction || 'query' in transaction)) throw new Error('no transaction');
    if ('totalCount' in transaction) throw new Error('a pool');
    const rows =
      'unsafe' in transaction
        ? [...(await transaction.unsafe('insert', [JSON.stringify(result)]))]
        : (await transaction.query('insert', [JSON.stringify(result)])).rows;
    expect(rows).toEqual([{ one: 1 }]);
  };
  for (const kind of ['postgres', 'pg']) {
    expect(await run('completes', kind, testContext({ completeWith }))).toEqual([
      ['insert', ['{"done":true}']],
    ]);
  }
  const refused = (kind: string): Promise<unknown> =>
    thrownBy(() => run('completes', kind, testContext({ completeWith })));
  expect(await refused('pool')).toMatchObject({ message: 'a pool' });
  expect(await refused('nothing')).toMatchObject({ message: 'no transaction' });
  expect(seen).toEqual([['unsafe'], ['query'], ['query', 'totalCount'], []]);
});

test('an error of the context keeps its identity, also as a cause', async () => {
  const already = new MillraceError({ code: 'conflict', what: 'done before' });
  const completeWith = (): Promise<never> => Promise.reject(already);
  const thrown = await thrownBy(() => run('wraps', null, testContext({ completeWith })));
  expect(thrown).toMatchObject({ message: 'rolled back' });
  expect((thrown as Error).cause).toBe(already);
});
