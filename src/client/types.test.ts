/** The compiler is the test: `tsc` reads this file, and an expected error that does not come is one. */
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from '../testing/index.ts';
import type { TestJob, TestRuntime } from '../testing/index.ts';
import { connect, defineFlow, defineTask } from './millrace.ts';
import type { Client, JobHandle, Json, Runtime } from './millrace.ts';

const count = defineTask({
  name: 'count',
  input: z.object({ text: z.string(), by: z.enum(['word', 'line']).default('word') }),
  output: z.object({ count: z.number(), at: z.date() }),
  run: ({ text }) => ({ count: text.length, at: new Date(0) }),
});
const flow = defineFlow({
  name: 'counting',
  input: z.object({ text: z.string() }),
  build: ({ input, task }) => {
    const counted = task('count', count, { text: input.text });
    return { count: counted.count, at: counted.at };
  },
});
const bare = defineFlow({
  name: 'bare',
  build: ({ task }) => {
    task('count', count, { text: 'x' });
  },
});

/** Never called: only its types count. */
export async function typed(client: Client, runtime: Runtime, kit: TestRuntime): Promise<void> {
  const handle = await client.submit(flow, { text: 'a' });
  expectTypeOf(handle).toEqualTypeOf<JobHandle<{ count: number; at: string }>>();
  expectTypeOf(await client.result(handle)).toEqualTypeOf(await handle.result());
  expectTypeOf(await client.fork(handle, 'count')).toEqualTypeOf(handle);
  expectTypeOf(client.handle('x', flow)).toEqualTypeOf(handle);
  expectTypeOf(client.handle('x')).toEqualTypeOf<JobHandle<Json>>();
  expectTypeOf(await client.result('x')).toEqualTypeOf<Json>();
  expectTypeOf(await client.submit({ tasks: [] })).toEqualTypeOf<JobHandle<Json>>();
  expectTypeOf(await runtime.submit(bare)).toEqualTypeOf<JobHandle<undefined>>();
  expectTypeOf(runtime).toExtend<Client>();

  // A default may be left out, a task is submitted like a flow.
  await client.submit(count, { text: 'a' });
  await client.submit(count, { text: 'a', by: 'line' }, { priority: 1, idempotencyKey: 'k' });

  // @ts-expect-error the input is missing
  await client.submit(flow);
  // @ts-expect-error it is not of this type
  await client.submit(flow, { text: 1 });
  // @ts-expect-error it has no such field
  await client.submit(flow, { text: 'a', words: 3 });
  // @ts-expect-error there is no such choice
  await client.submit(count, { text: 'a', by: 'page' });
  // @ts-expect-error it takes no input
  await client.submit(bare, { text: 'a' });
  // @ts-expect-error there is no such option
  await client.submit(flow, { text: 'a' }, { urgent: true });
  // @ts-expect-error a document has its inputs inside
  await client.submit({ tasks: [] }, { text: 'a' });
  // @ts-expect-error the result has no such field
  void (await handle.result()).words;

  await client.schedules.put('a', { everyMs: 1_000, flow, input: { text: 'a' } });
  await client.schedules.put('a', { at: new Date(), flow: bare });
  await client.schedules.put('a', { cron: '* * * * *', zone: 'UTC', document: { tasks: [] } });
  // @ts-expect-error the input is missing
  await client.schedules.put('a', { everyMs: 1_000, flow });
  // @ts-expect-error it is not of this type
  await client.schedules.put('a', { everyMs: 1_000, flow, input: { text: 1 } });
  // @ts-expect-error no time is given
  await client.schedules.put('a', { flow: bare });
  // @ts-expect-error there is no such policy
  await client.schedules.put('a', { everyMs: 1_000, flow: bare, overlap: 'allow' });

  const job = await kit.submit(flow, { text: 'a' });
  expectTypeOf(job).toEqualTypeOf<TestJob<{ count: number; at: string }>>();
  expectTypeOf(await kit.result(job)).toEqualTypeOf(await job.result());
  // @ts-expect-error the input is missing
  await kit.submit(flow);
  // @ts-expect-error there is no such point
  kit.crash({ task: 'count', at: 'sometimes' });
}

test('values have the types that are declared', async () => {
  const runtime = await createTestRuntime();
  const job = await runtime.submit(flow, { text: 'abc' });
  expect(await job.result()).toEqual({ count: 3, at: '1970-01-01T00:00:00.000Z' });
  expect(await (await runtime.submit(bare)).result()).toBeUndefined();
  expectTypeOf(connect).returns.toEqualTypeOf<Client>();
});
