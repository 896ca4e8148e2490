import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

test('a task with children shows how far everything below it has come', async () => {
  const tasks = [echo('a'), echo('b', { parent: 'a' }), echo('bad', { parent: 'b' }), echo('d')];
  await bench.call('POST', '/api/v1/jobs', { name: 'n', tasks });
  const worker = await bench.worker();
  const [first] = await worker.pollNow(1);
  await worker.complete(first?.lease ?? expect.fail('there is no work'), 1);
  const { body } = await bench.call('GET', '/api/v1/jobs/made-1');
  const shown = (body as unknown as { tasks: { id: string; tree?: unknown }[] }).tasks;
  expect(shown.map(({ id, tree }) => [id, tree])).toEqual([
    ['a', { total: 3, ended: 1, progress: 1 / 3, state: 'ready' }],
    ['b', { total: 2, ended: 0, progress: 0, state: 'ready' }],
    ['bad', undefined],
    ['d', undefined],
  ]);
});
