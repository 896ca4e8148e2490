import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const submit = (singleton: unknown): Promise<Heard> =>
  bench.call('POST', '/api/v1/jobs', { name: 'n', tasks: [echo('a')], singleton });

test('a second job with the key is answered with the first, or takes its place', async () => {
  expect(await submit({ key: 'k' })).toMatchObject({ status: 201, body: { id: 'made-1' } });
  expect(await submit({ key: 'k' })).toMatchObject({ status: 200, body: { id: 'made-1' } });
  const replace = { key: 'k', whenBusy: 'replace' };
  expect(await submit(replace)).toMatchObject({ status: 201, body: { id: 'made-3' } });
  expect((await bench.call('GET', '/api/v1/jobs/made-1')).body).toMatchObject({
    state: 'cancelled',
    error: { code: 'superseded', message: 'job made-3 has replaced it' },
  });
  expect(await submit({ key: 'k', whenBusy: 'now' })).toMatchObject({
    status: 400,
    body: { code: 'bad_input', path: '/singleton/whenBusy' },
  });
});
