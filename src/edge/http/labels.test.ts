import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const get = (path: string): Promise<Heard> => bench.call('GET', `/api/v1${path}`);
const post = (path: string, body?: unknown): Promise<Heard> =>
  bench.call('POST', `/api/v1${path}`, body);
const document = (more: object = {}): object => ({ name: 'n', tasks: [echo('a')], ...more });

test('labels are shown, and jobs are found by them; several must all match', async () => {
  await post('/jobs', document({ labels: { team: 'a', tier: 'gold' } }));
  await post('/jobs', document({ labels: { team: 'a' } }));
  await post('/jobs', document());
  const ids = async (query: string): Promise<unknown> => {
    const { body } = await get(`/jobs?${query}`);
    return (body as unknown as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
  };
  expect(await ids('label=team:a')).toEqual(['made-2', 'made-1']);
  expect(await ids('label=team:a&label=tier:gold')).toEqual(['made-1']);
  expect(await ids('label=team:b')).toEqual([]);
  expect((await get('/jobs/made-1')).body).toMatchObject({ labels: { team: 'a', tier: 'gold' } });
  expect(await get('/jobs?label=team')).toMatchObject({
    status: 400,
    body: { code: 'bad_input', path: '?label' },
  });
  expect(await post('/jobs', document({ labels: { 'a"b': 'x' } }))).toMatchObject({
    status: 400,
    body: { code: 'bad_input', path: '/labels/a"b' },
  });
});

test('a job that starts later says when, and can be cancelled', async () => {
  await post('/jobs', document({ runAt: '2100-01-01T00:00:00+01:00' }));
  expect((await get('/jobs/made-1')).body).toMatchObject({
    state: 'queued',
    runAt: '2099-12-31T23:00:00.000Z',
    tasks: [{ state: 'delayed', waiting: 'starts at 2099-12-31T23:00:00.000Z' }],
  });
  expect(await post('/jobs/made-1/cancel')).toMatchObject({ body: { state: 'cancelled' } });
});
