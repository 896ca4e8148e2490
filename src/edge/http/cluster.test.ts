import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const call = (method: string, path: string, body?: unknown): Promise<Heard> =>
  bench.call(method, `/api/v1${path}`, body);

async function reopen(given: Parameters<typeof openApi>[0]): Promise<void> {
  await bench.close();
  bench = await openApi(given);
}

describe('nodes', () => {
  test('are listed, drained and released', async () => {
    await bench.worker('w-1');
    await bench.worker('w-2');
    const { body } = await call('GET', '/nodes');
    expect(body).toMatchObject({ nodes: [{ id: 'w-1', draining: false }, { id: 'w-2' }] });
    expect((await call('GET', '/nodes?executor=echo')).body).toMatchObject({ nodes: [{}, {}] });
    for (const other of ['executor=other', 'operator=echo', 'capability=gpu:x'])
      expect((await call('GET', `/nodes?${other}`)).body).toMatchObject({ nodes: [] });
    expect((await call('GET', '/nodes?capability=gpu')).body).toMatchObject({
      code: 'bad_input',
      path: '?capability',
    });
    expect((await call('POST', '/nodes/w-1/drain')).body).toMatchObject({
      id: 'w-1',
      draining: true,
    });
    expect((await call('POST', '/nodes/w-1/release')).body).toMatchObject({ draining: false });
  });

  test('that are not there are 404', async () => {
    expect((await call('POST', '/nodes/ghost/drain')).status).toBe(404);
    expect((await call('POST', '/nodes/ghost/release')).status).toBe(404);
  });
});

describe('queues', () => {
  test('are paused, listed with what waits, and resumed', async () => {
    await bench.worker('w-1');
    const reason = 'the bank is down';
    expect((await call('POST', '/queues/pause', { executor: 'echo', reason })).body).toMatchObject({
      executor: 'echo',
      key: null,
      paused: { reason },
      changed: true,
    });
    const { body: job } = await call('POST', '/jobs', { tasks: [echo('a')] });
    const { body: why } = await call('GET', `/jobs/${job['id']}/tasks/a/explain`);
    expect(why).toMatchObject({ code: 'paused' });
    expect(JSON.stringify(why)).toMatch(
      /executor echo has been paused since [^"]*: the bank is down"/,
    );
    expect((await call('GET', '/queues')).body).toMatchObject({
      queues: [{ executor: 'echo', ready: 1, running: 0, paused: { reason } }],
    });
    const resumed = await call('POST', '/queues/resume', { executor: 'echo' });
    expect(resumed.body).toEqual({ executor: 'echo', key: null, paused: null, changed: true });
    const again = await call('POST', '/queues/resume', { executor: 'echo' });
    expect([again.status, again.body]).toMatchObject([200, { changed: false }]);
  });

  test.each([
    [{}, '/executor'],
    [{ executor: '' }, '/executor'],
    [{ executor: 7 }, '/executor'],
    [{ executor: 'a', key: 'b' }, '/key'],
    [{ key: 'a\u0000b' }, '/key'],
    [{ key: 'x'.repeat(10_000) }, '/key'],
    [{ key: 'a', reason: ['b'] }, '/reason'],
    [{ key: 'a', until: 'tomorrow' }, '/until'],
    ['a', ''],
  ])('refuses to pause %j', async (body, path) => {
    const refused = await call('POST', '/queues/pause', body);
    expect([refused.status, refused.body]).toMatchObject([400, { code: 'bad_input', path }]);
    expect((await call('GET', '/queues')).body).toMatchObject({ queues: [] });
  });
});

describe('the leader', () => {
  test('is shown with epoch and addresses', async () => {
    const { body } = await call('GET', '/leader');
    expect(body).toMatchObject({ epoch: 1, url: null, grpc: null, asOf: { seq: 1 } });
  });

  test('that is not there is 503, with a hint to come back', async () => {
    await bench.store.resign(bench.led.leader.term);
    const { status, body, headers } = await call('GET', '/leader');
    expect([status, body.code, body.leader]).toEqual([503, 'not_leader', null]);
    expect(headers.get('retry-after')).toBe('1');
  });
});

describe('schedules', () => {
  const document = { tasks: [echo('a')] };
  const hourly = { timing: { cron: '0 * * * *', zone: 'UTC' }, document };

  test('are created, listed with their next runs, changed and deleted', async () => {
    const made = await call('POST', '/schedules', { id: 'hourly', ...hourly });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      id: 'hourly',
      paused: false,
      nextAt: '2001-09-09T02:00:00.000Z',
      upcoming: [2, 3, 4, 5, 6].map((hour) => `2001-09-09T0${hour}:00:00.000Z`),
    });
    const everyMinute = { timing: { everyMs: 60_000 }, document };
    const changed = await call('PUT', '/schedules/hourly', everyMinute);
    expect(changed.body).toMatchObject({ spec: { timing: { everyMs: 60_000 } } });
    expect(changed.body.upcoming).toHaveLength(5);
    const once = { timing: { at: '2001-10-01T00:00:00Z' }, document };
    await call('PUT', '/schedules/once', once);
    const { body } = await call('GET', '/schedules');
    expect(body.schedules).toMatchObject([
      { id: 'hourly' },
      { id: 'once', upcoming: ['2001-10-01T00:00:00.000Z'] },
    ]);
    expect((await call('GET', '/schedules/once')).body.id).toBe('once');
    const twice = await call('PUT', '/schedules/twice', { ...everyMinute, maxRuns: 2 });
    expect(twice.body).toMatchObject({ state: 'active', spec: { maxRuns: 2, runs: 0 } });
    expect(twice.body['upcoming']).toHaveLength(2);
    const past = await call('PUT', '/schedules/past', { ...everyMinute, endAt: 1 });
    expect(past.body).toMatchObject({ state: 'ended', nextAt: null, upcoming: [] });
    expect((await call('DELETE', '/schedules/once')).status).toBe(204);
    expect((await call('DELETE', '/schedules/once')).status).toBe(404);
    expect((await call('GET', '/schedules/once')).status).toBe(404);
  });

  test('are paused, resumed and triggered by hand', async () => {
    await call('PUT', '/schedules/s', hourly);
    expect((await call('POST', '/schedules/s/pause')).body).toMatchObject({
      paused: true,
      upcoming: [],
    });
    const resumed = await call('POST', '/schedules/s/resume');
    expect([resumed.body.paused, resumed.body.upcoming.length]).toEqual([false, 5]);
    const { body } = await call('POST', '/schedules/s/trigger');
    const job = await call('GET', `/jobs/${body.lastJob}`);
    expect(job.body).toMatchObject({
      scheduleId: 's',
      // The clock of this test stands still.
      scheduledAt: '2001-09-09T01:46:40.000Z',
      state: 'queued',
    });
    expect((await call('POST', '/schedules/ghost/trigger')).status).toBe(404);
  });

  test('are run for times that have passed, once each', async () => {
    await call('PUT', '/schedules/s', { cron: '0 2 * * *', document });
    const range = { from: '2001-01-01T00:00:00Z', to: '2001-01-03T00:00:00Z' };
    const { status, body } = await call('POST', '/schedules/s/backfill', range);
    expect([status, body]).toMatchObject([
      200,
      { id: 's', started: 2, jobs: [{ at: '2001-01-01T02:00:00.000Z', isNew: true }, {}] },
    ]);
    const again = await call('POST', '/schedules/s/backfill', range);
    expect(again.body).toMatchObject({ started: 0, jobs: [{ isNew: false }, { isNew: false }] });
    const at = { at: '2001-01-02T02:00:00Z' };
    const triggered = await call('POST', '/schedules/s/trigger', at);
    const { jobs } = body as { readonly jobs: readonly { readonly id: string }[] };
    expect(triggered.body).toMatchObject({ id: 's', lastJob: jobs[1]?.id, lastAt: null });
    const refusals: readonly (readonly [string, unknown, number])[] = [
      ['s/backfill', {}, 400],
      ['s/backfill', at, 400],
      ['s/backfill', { from: '1990-01-01T00:00:00Z' }, 413],
      ['s/trigger', { at: '2999-01-01T00:00:00Z' }, 400],
      ['s/trigger', { to: 1 }, 400],
      ['ghost/backfill', range, 404],
      ['ghost/trigger', at, 404],
    ];
    for (const [path, value, expected] of refusals)
      expect([path, (await call('POST', `/schedules/${path}`, value)).status]).toEqual([
        path,
        expected,
      ]);
  });

  test('return the triggered job to each caller that triggers them', async () => {
    await call('PUT', '/schedules/s', hourly);
    const heard = await Promise.all([1, 2, 3].map(() => call('POST', '/schedules/s/trigger')));
    expect(new Set(heard.map(({ body }) => body.lastJob)).size).toBe(3);
  });

  test('show what is known of a schedule that this version cannot read', async () => {
    const check = (): string => 'There is no such zone here.';
    await reopen({ calendar: { check, next: () => expect.fail('asked all the same') } });
    const { body } = await call('PUT', '/schedules/s', hourly);
    expect(body.upcoming).toEqual([body.nextAt]);
  });

  test('that are wrong are refused with the field', async () => {
    for (const [body, path] of [
      [{ ...hourly }, '/id'],
      [{ id: 'a/b', ...hourly }, '/id'],
      [{ id: 's', document }, '/timing'],
      [{ id: 's', timing: { cron: 'x', zone: 'UTC' }, document }, '/timing/cron'],
      [{ id: 's', timing: { cron: '0 2 * * *', zone: 'Berlin' }, document }, '/timing/zone'],
      [{ id: 's', timing: { everyMs: 5 }, document }, '/timing/everyMs'],
      [{ id: 's', timing: { at: 'tomorrow' }, document }, '/timing/at'],
      [{ id: 's', timing: hourly.timing, document, overlap: 'both' }, '/overlap'],
      [{ id: 's', timing: hourly.timing, document: { tasks: [{}] } }, '/document/tasks/0/id'],
      [[], ''],
    ] as const) {
      const heard = await call('POST', '/schedules', body);
      expect([heard.status, heard.body.path]).toEqual([400, path]);
    }
  });

  test('show only the next time where there is no calendar', async () => {
    await reopen({ calendar: undefined as never });
    const { body } = await call('PUT', '/schedules/s', hourly);
    expect(body.upcoming).toEqual([body.nextAt]);
  });
});

describe('what is not there yet', () => {
  test.each([
    ['POST', '/queries'],
    ['GET', '/queries/q'],
    ['GET', '/queries/q/results'],
    ['POST', '/queries/q/cancel'],
  ])('%s %s says so', async (method, path) => {
    const { status, body } = await call(method, path, method === 'POST' ? {} : undefined);
    expect([status, body.code]).toEqual([501, 'unimplemented']);
  });
});

describe('health', () => {
  test('is reported for a live process and a ready leader', async () => {
    for (const path of ['/healthz', '/readyz', '/readyz?leader=1']) {
      const { status, body } = await bench.call('GET', path);
      expect([status, body]).toEqual([200, { status: 'ok' }]);
    }
  });

  test('of a follower, or of a node that is not ready, says so', async () => {
    let [isReady, storeAnswers] = [true, true];
    const base = { nodeId: 'n', leads: false, epoch: null, figures: null };
    await reopen({ standing: () => ({ ...base, isReady, storeAnswers }) });
    expect((await bench.call('GET', '/readyz')).status).toBe(200);
    const { status, body } = await bench.call('GET', '/readyz?leader=1');
    expect([status, body.code]).toEqual([503, 'not_leader']);
    isReady = false;
    expect((await bench.call('GET', '/readyz')).body.code).toBe('loading');
    [isReady, storeAnswers] = [true, false];
    expect(await bench.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { code: 'store_unavailable', detail: expect.stringContaining('database') as string },
    });
    expect((await bench.call('GET', '/healthz')).status).toBe(200);
    expect((await bench.call('GET', '/healthz')).status).toBe(200);
  });
});

describe('metrics', () => {
  const text = async (): Promise<string> => (await bench.call('GET', '/metrics')).text;

  test('show the cluster, the requests and the process', async () => {
    await bench.worker();
    await call('POST', '/jobs', { tasks: [echo('a')] });
    await call('GET', '/jobs/made-1');
    await call('GET', '/jobs/ghost');
    await bench.call('GET', '/nowhere');
    const seen = await text();
    for (const line of [
      'millrace_info{node="n-1",version="0.1.0"} 1',
      'millrace_leader 1',
      'millrace_epoch 1',
      'millrace_backlog 0',
      'millrace_readable 1',
      'millrace_nodes{status="healthy"} 1',
      'millrace_nodes{status="dead"} 0',
      'millrace_slots 1000',
      'millrace_sse_clients 0',
      'millrace_jobs_submitted_total 1',
      'millrace_http_requests_total{method="POST",route="/api/v1/jobs",status="201"} 1',
      'millrace_http_requests_total{method="GET",route="/api/v1/jobs/:id",status="404"} 1',
      'millrace_http_requests_total{method="other",route="none",status="404"} 1',
    ]) {
      expect(seen.split('\n')).toContain(line);
    }
    expect(seen).toMatch(/^millrace_events_seq [1-9]/m);
    expect(seen).toMatch(/^process_cpu_seconds_total [0-9.]+$/m);
    expect(seen).toMatch(/^process_resident_memory_bytes \d{7,}$/m);
    expect(seen).toMatch(/^nodejs_eventloop_delay_seconds\{quantile="0.99"\} [0-9.e-]+$/m);
  });

  test('are well-formed: each metric is described once, and each value is a number', async () => {
    const lines = (await text()).trimEnd().split('\n');
    const described = lines.filter((line) => line.startsWith('# TYPE'));
    expect(new Set(described).size).toBe(described.length);
    for (const line of lines.filter((each) => !each.startsWith('#'))) {
      expect(line).toMatch(/^[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+$/);
    }
  });

  test('of a leader show waiting tasks by state, and those that no node can run', async () => {
    const figures = { backlog: 3, jobs: { running: 2 }, tasks: { ready: 5 }, unfitMs: 1_500 };
    await reopen({
      standing: () => ({ nodeId: 'a"b\\c', leads: true, epoch: 4, isReady: true, figures }),
    });
    const seen = await text();
    expect(seen).toContain('millrace_info{node="a\\"b\\\\c"');
    expect(seen).toContain('millrace_backlog 3\n');
    expect(seen).toContain('millrace_jobs{state="running"} 2\n');
    expect(seen).toContain('millrace_tasks{state="ready"} 5\n');
    expect(seen).toContain('millrace_unfit_task_seconds 1.5\n');
  });

  test('are served while the database is unreachable', async () => {
    const away = (): Promise<never> =>
      Promise.reject(new MillraceError({ code: 'store_unavailable', what: 'away' }));
    await reopen({ reader: { head: away, nodes: away, unfolded: away } as unknown as Reader });
    const seen = await text();
    expect(seen).toContain('millrace_readable 0\n');
    expect(seen).toContain('millrace_leader 1\n');
    const { status, headers } = await call('GET', '/nodes');
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  });
});
