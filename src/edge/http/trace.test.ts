import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, echo, openApi } from '../../../test/rig/api.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const OTHER = 'ab'.repeat(16);
const parent = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`;
const job = { name: 'n', tasks: [echo('a')] };

async function submitted(
  document: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  const { status, body } = await bench.call('POST', '/api/v1/jobs', document, headers);
  expect(status).toBe(201);
  const { id } = body as { readonly id: string };
  return (await bench.call('GET', `/api/v1/jobs/${id}`)).body;
}

test('the header of a submission becomes the trace of the job', async () => {
  expect(await submitted(job, { traceparent: parent(TRACE) })).toMatchObject({ trace: TRACE });
  expect(await submitted(job, {})).toMatchObject({ trace: null });
});

test('what the document says takes precedence over the header', async () => {
  const document = { ...job, traceparent: parent(OTHER) };
  expect(await submitted(document, { traceparent: parent(TRACE) })).toMatchObject({ trace: OTHER });
});

test.each(['', 'x', `${parent(TRACE)}-00`, `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`])(
  'a header that is not valid is ignored, and the job is taken: %s',
  async (traceparent) => {
    expect(await submitted(job, { traceparent, tracestate: '\u00e4=1' })).toMatchObject({
      trace: null,
    });
  },
);

test('all jobs of a list belong to the trace of the call', async () => {
  const headers = { traceparent: parent(TRACE), 'millrace-job-id': 'list' };
  await bench.call('POST', '/api/v1/jobs', [job, job], headers);
  for (const id of ['list.0', 'list.1']) {
    expect((await bench.call('GET', `/api/v1/jobs/${id}`)).body).toMatchObject({ trace: TRACE });
  }
});

test('the jobs of a schedule do not belong to the trace of whoever made it', async () => {
  const document = { ...job, traceparent: parent(TRACE) };
  const schedule = { timing: { cron: '0 * * * *', zone: 'UTC' }, document };
  const made = await bench.call('PUT', '/api/v1/schedules/s', schedule, {
    traceparent: parent(OTHER),
  });
  expect(made.status).toBeLessThan(300);
  const { body } = await bench.call('POST', '/api/v1/schedules/s/trigger');
  expect((await bench.call('GET', `/api/v1/jobs/${body.lastJob}`)).body).toMatchObject({
    scheduleId: 's',
    trace: null,
  });
});
