import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const call = (method: string, path: string, body?: unknown): Promise<Heard> =>
  bench.call(method, `/api/v1${path}`, body);

test('a job is removed when it has ended, and not before', async () => {
  await call('POST', '/jobs', { name: 'n', tasks: [echo('a')] });
  expect(await call('DELETE', '/jobs/made-1')).toMatchObject({
    status: 409,
    body: { code: 'conflict', todo: expect.stringContaining('Cancel it first') as string },
  });
  await call('POST', '/jobs/made-1/cancel');
  expect(await call('DELETE', '/jobs/made-1')).toMatchObject({ status: 204 });
  expect(await call('GET', '/jobs/made-1')).toMatchObject({ status: 404 });
  expect(await call('GET', '/jobs/made-1/logs')).toMatchObject({ status: 404 });
  expect(await call('DELETE', '/jobs/made-1')).toMatchObject({ status: 404 });
});
