import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const post = (path: string, body?: unknown): Promise<Heard> =>
  bench.call('POST', `/api/v1${path}`, body);
const set = (runAt: unknown): Promise<Heard> => post('/jobs/made-1/reschedule', { runAt });

test('a job that waits for its time is given another one, or starts now', async () => {
  await post('/jobs', { name: 'n', runAt: '2100-01-01T00:00:00Z', tasks: [echo('a')] });
  const later = '2101-01-01T00:00:00.000Z';
  expect(await set(later)).toMatchObject({
    status: 200,
    body: { runAt: later, changed: true, tasks: [{ state: 'delayed' }] },
  });
  expect(await set(later)).toMatchObject({
    status: 200,
    body: { changed: false, why: 'It starts at that time already.' },
  });
  const list = await bench.call('GET', '/api/v1/jobs');
  expect(list.body).toMatchObject({ jobs: [{ id: 'made-1', runAt: later }] });
  expect(await set('now')).toMatchObject({ body: { changed: true, tasks: [{ state: 'ready' }] } });
  expect(await set('now')).toMatchObject({
    body: { changed: false, why: 'It does not wait for a time.' },
  });
  await post('/jobs/made-1/cancel');
  expect(await set(later)).toMatchObject({
    status: 200,
    body: { changed: false, why: 'It was cancelled.' },
  });
});

test('a time that is not valid is refused, and so is an unknown job', async () => {
  await post('/jobs', { name: 'n', runAt: '2100-01-01T00:00:00Z', tasks: [echo('a')] });
  for (const runAt of ['soon', '2h', '2026-02-30T00:00:00Z', 1, -1, 1e300, null, undefined, {}]) {
    expect(await set(runAt)).toMatchObject({
      status: 400,
      body: { code: 'bad_input', path: '/runAt' },
    });
  }
  expect(await post('/jobs/made-1/reschedule', { runAt: 'now', more: 1 })).toMatchObject({
    status: 400,
  });
  expect(await post('/jobs/ghost/reschedule', { runAt: 'now' })).toMatchObject({ status: 404 });
});
