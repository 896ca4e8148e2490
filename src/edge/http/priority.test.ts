import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const post = (path: string, body?: unknown): Promise<Heard> =>
  bench.call('POST', `/api/v1${path}`, body);

test('a job is given another priority, which its list and its fork see; an ended one is not', async () => {
  await post('/jobs', { name: 'n', tasks: [echo('a')] });
  const set = (priority: unknown): Promise<Heard> => post('/jobs/made-1/priority', { priority });
  expect(await set(0)).toMatchObject({ status: 200, body: { priority: 0, changed: true } });
  expect(await set(0)).toMatchObject({ status: 200, body: { priority: 0, changed: false } });
  const list = await bench.call('GET', '/api/v1/jobs');
  expect(list.body).toMatchObject({ jobs: [{ id: 'made-1', priority: 0 }] });
  await post('/jobs/made-1/cancel');
  expect(await set(3)).toMatchObject({ status: 200, body: { priority: 0, changed: false } });
  // A fork is the document again.
  await post('/jobs/made-1/fork', { from: 'a' });
  expect((await bench.call('GET', '/api/v1/jobs/made-2')).body).toMatchObject({ priority: 2 });
});

test('a priority that is not valid is refused, and so is an unknown job', async () => {
  await post('/jobs', { name: 'n', tasks: [echo('a')] });
  for (const priority of [4, -1, 1.5, '1', null, undefined, [0]]) {
    expect(await post('/jobs/made-1/priority', { priority })).toMatchObject({
      status: 400,
      body: { code: 'bad_input', path: '/priority' },
    });
  }
  expect(await post('/jobs/made-1/priority', { priority: 1, more: 1 })).toMatchObject({
    status: 400,
  });
  expect(await post('/jobs/ghost/priority', { priority: 1 })).toMatchObject({ status: 404 });
});
