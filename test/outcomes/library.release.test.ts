/** Bad input to the library itself, with a runtime in this very process. */
import { expect, test, vi } from 'vitest';
import { ended, expectStillAtWork } from './single-node.ts';
import { start } from './library-setup.ts';

// A busy machine.
vi.setConfig({ testTimeout: 120_000 });

test('a map over ten thousand items gives ten thousand results, and one over no list is refused', async () => {
  const runtime = await start();
  const items = Array.from({ length: 10_000 }, (_, at) => at);
  const each = { id: 'each', executor: 'map', input: { items, task: { executor: 'echo' } } };
  const { state, result } = await ended(
    await runtime.submit({ output: { $from: 'each' }, tasks: [each] }),
  );
  expect(state).toBe('succeeded');
  expect(result).toEqual(items);
  const wrong = { ...each, input: { ...each.input, items: 'abc' } };
  expect((await ended(await runtime.submit({ tasks: [wrong] }))).tasks).toMatchObject([
    {
      state: 'failed',
      error: { code: 'bad_input', message: expect.stringContaining('/items: ') as string },
    },
  ]);
  await expectStillAtWork(runtime);
});
