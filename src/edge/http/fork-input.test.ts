import { onTestFinished, expect, test } from 'vitest';
import { type Heard, echo, openApi } from '../../../test/rig/api.ts';

test('a fork may replace the input of its task, which is validated', async () => {
  const bench = await openApi();
  onTestFinished(() => bench.close());
  const post = (path: string, body: unknown): Promise<Heard> =>
    bench.call('POST', `/api/v1${path}`, body);
  const worker = await bench.worker();
  const when = { $from: 'a' };
  const tasks = [echo('a'), echo('b', { dependsOn: ['a'], when, input: { old: true } })];
  await post('/jobs', { name: 'n', tasks });
  for (const id of ['a', 'b']) {
    const [task] = await worker.pollNow(1);
    await worker.complete(task!.lease, { of: id });
    worker.held.length = 0;
  }
  const fork = (input: unknown) => post('/jobs/made-1/fork', { from: 'b', input });
  const { id } = (await fork({ fresh: { $from: 'a', path: '/of' } })).body as { id: string };
  expect((await bench.call('GET', `/api/v1/jobs/${id}/tasks/b`)).body).toMatchObject({
    state: 'ready',
    input: { $when: [when], input: { fresh: { $from: 'a', path: '/of' } } },
  });
  const first = await bench.call('GET', '/api/v1/jobs/made-1/tasks/b');
  expect(first.body).toMatchObject({ input: { input: { old: true } } });
  expect((await fork({ x: { $from: 'b' } })).body).toMatchObject({
    status: 400,
    path: '/input/x/$from',
  });
  expect((await fork('x'.repeat(3_000_000))).status).toBe(413);
  expect((await fork(null)).status).toBe(201);
});
