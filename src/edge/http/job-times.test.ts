import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const get = (path: string): Promise<Heard> => bench.call('GET', `/api/v1${path}`);

test('jobs are found by the time of their creation', async () => {
  await bench.call('POST', '/api/v1/jobs', { name: 'n', tasks: [echo('a')] });
  const { body } = await get('/jobs/made-1');
  const { createdAt } = body as unknown as { createdAt: string };
  const count = async (query: string): Promise<number> =>
    ((await get(`/jobs?${query}`)).body as unknown as { jobs: unknown[] }).jobs.length;
  expect(await count(`since=${createdAt}`)).toBe(1);
  expect(await count(`until=${createdAt}`)).toBe(0);
  expect(await count('since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00%2B01:00')).toBe(1);
  expect(await count('since=2100-01-01T00:00:00Z')).toBe(0);
  for (const [field, text] of [
    ['since', '2h'],
    ['until', '2026-02-30T00:00:00Z'],
    ['until', ''],
  ] as const) {
    expect(await get(`/jobs?${field}=${text}`)).toMatchObject({
      status: 400,
      body: { code: 'bad_input', path: `?${field}` },
    });
  }
});
