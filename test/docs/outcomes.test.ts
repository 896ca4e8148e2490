/** What the guide says becomes of bad input, word for word. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import { JobError, defineTask } from '../../src/client/millrace.ts';
import type { TaskDefinition } from '../../src/client/millrace.ts';
import { StandstillError, createTestRuntime } from '../../src/testing/index.ts';
import { GUIDE, readPage } from './page.ts';

const { text } = readPage(join(GUIDE, 'durability.md'));
const MIB = 2 ** 20;

/** The entry of the list that begins so. */
function outcomeOf(what: string): string {
  const row = text.split('\n').find((line) => line.startsWith(`- **${what}`));
  expect(row, `an entry '${what}' in durability.md`).toBeDefined();
  return row ?? '';
}

/** The quoted text of the entry. */
function wordsOf(row: string): string {
  const [, words = ''] = /"([^"]+)"/.exec(row) ?? [];
  expect(words).not.toBe('');
  return words;
}

async function failureOf(task: TaskDefinition, input: unknown = null): Promise<JobError> {
  const runtime = await createTestRuntime({ tasks: [task] });
  // A document says by itself how its tasks are run; what was defined is for flows.
  const timeouts = { runMs: 1_000 };
  const document = { tasks: [{ id: 'a', executor: task.name, input, timeouts }] };
  const job = await runtime.submit(document);
  const thrown: unknown = await job.result().catch((error: unknown) => error);
  await runtime.close();
  expect(thrown).toBeInstanceOf(JobError);
  return thrown as JobError;
}

const thrower = (name: string, value: unknown): TaskDefinition =>
  defineTask({
    name,
    run: () => {
      throw value;
    },
  });

test.each<[what: string, task: TaskDefinition, attempts: number]>([
  [
    'a result that does not fit the schema',
    defineTask({
      name: 'result',
      output: z.object({ n: z.number() }),
      run: () => ({ n: 'one' }) as unknown as { n: number },
    }),
    1,
  ],
  ['a result that JSON cannot hold', defineTask({ name: 'mean', run: () => ({ rows: [NaN] }) }), 1],
  ['a result over 4 MiB', defineTask({ name: 'large', run: () => 'x'.repeat(5 * MIB) }), 1],
  ['a result over 16 MiB', defineTask({ name: 'huge', run: () => 'x'.repeat(50 * MIB) }), 1],
  ['a handler that throws a text', thrower('text', 'no luck'), 3],
  ['a handler that throws nothing', thrower('nothing', undefined), 3],
  [
    'a handler that never ends',
    defineTask({
      name: 'endless',
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          // Whoever aborts says why, as a MillraceError.
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    }),
    3,
  ],
  [
    'an input that does not fit the schema',
    defineTask({ name: 'input', input: z.object({ n: z.number() }), run: () => 1 }),
    1,
  ],
  [
    'a name that is used twice in one attempt',
    defineTask({
      name: 'loop',
      run: async (_input, ctx) => {
        for (const each of [1, 2]) await ctx.step('charge', () => each).catch(() => {});
      },
    }),
    1,
  ],
  [
    'a step, sleep, wait, call or map that is not awaited',
    defineTask({
      name: 'hasty',
      run: (_input, ctx) => {
        void ctx.step('charge', () => 1);
        return 'done';
      },
    }),
    1,
  ],
  [
    'a wait inside a step',
    defineTask({
      name: 'stuck',
      run: (_input, ctx) => ctx.step('outer', () => ctx.sleep('night', '1h')),
    }),
    1,
  ],
])('%s', async (what, task, attempts) => {
  const row = outcomeOf(what);
  const failure = await failureOf(task, what.includes('input') ? {} : null);
  const [{ error, attempt } = { error: null, attempt: 0 }] = failure.job.tasks;
  expect(error?.message).toContain(wordsOf(row));
  const isNamed =
    row.includes(`\`${error?.code}\``) || (row.includes('the same') && error?.code === 'dead');
  expect(isNamed, `${error?.code} in ${row}`).toBe(true);
  expect(row.includes('failed permanently')).toBe(attempts === 1);
  expect(attempt).toBe(attempts);
});

test('a cycle is refused when it is submitted, with its place', async () => {
  const runtime = await createTestRuntime();
  const task = (id: string, other: string) => ({ id, executor: 'echo', dependsOn: [other] });
  const refusal: unknown = await runtime
    .submit({ tasks: [task('a', 'b'), task('b', 'a')] })
    .catch((error: unknown) => error);
  const row = outcomeOf('a cycle');
  if (!isMillraceError(refusal, 'bad_input')) throw refusal;
  expect(row).toContain('`bad_input`');
  expect(row).toContain(`\`${refusal.path}\``);
  expect(refusal.what).toBe(wordsOf(row));
});

test('an executor that nobody has is waited for, and no longer than it says', async () => {
  const row = outcomeOf('an executor that nobody has');
  const runtime = await createTestRuntime();
  const task = { id: 'a', executor: 'nobody' };
  const waiting = await runtime.submit({ tasks: [task] });
  const thrown: unknown = await waiting.result().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(StandstillError);
  expect((thrown as StandstillError).waiting['a']).toBe(wordsOf(row));
  const limited = await runtime.submit({ tasks: [{ ...task, timeouts: { queueMs: 60_000 } }] });
  const failure: unknown = await limited.result().catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'JobError', code: 'queue_timeout' });
  expect(row).toContain('`queue_timeout`');
});
