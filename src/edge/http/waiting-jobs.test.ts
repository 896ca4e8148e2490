import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiBench, type Heard, echo, openApi } from '../../../test/rig/api.ts';
import { ScriptedWorker } from '../../../test/rig/lead.ts';
import type { Leader } from '../../scheduler/coordinator/index.ts';

let bench: ApiBench;

beforeEach(async () => {
  bench = await openApi();
});
afterEach(() => bench.close());

const get = (path: string): Promise<Heard> => bench.call('GET', `/api/v1${path}`);
const post = (path: string, body?: unknown): Promise<Heard> =>
  bench.call('POST', `/api/v1${path}`, body);

async function listed(query: string): Promise<unknown> {
  const { body } = await get(`/jobs?${query}`);
  const { jobs } = body as unknown as { jobs: { id: string; waitsFor?: string[] }[] };
  return jobs.map(({ id, waitsFor }) => [id, waitsFor]);
}

async function suspendAll(leader: Leader, signal: string): Promise<void> {
  const worker = await ScriptedWorker.join(leader, `w-${signal}`, ['echo']);
  for (const { lease } of await worker.pollNow(10)) {
    const signals = [{ step: `$signal/${signal}`, name: signal }];
    const until = { type: 'wait', sleeps: [], signals, jobs: [] } as const;
    await leader.workers.report(worker.session, [{ kind: 'suspended', lease, until }]);
  }
}

test('jobs that wait for a signal are found by its name, and by any', async () => {
  const document = { name: 'n', tasks: [echo('a')] };
  await post('/jobs', document);
  await post('/jobs', document);
  await suspendAll(bench.led.leader, 'approval');
  await post('/jobs', document);
  await suspendAll(bench.led.leader, 'go');
  await post('/jobs', document);
  const both = [
    ['made-2', ['approval']],
    ['made-1', ['approval']],
  ];
  expect(await listed('waitingFor=approval')).toEqual(both);
  expect(await listed('waitingFor=*')).toEqual([['made-3', ['go']], ...both]);
  expect(await listed('waitingFor=none')).toEqual([]);
  expect(await listed('waitingFor=approval&limit=1')).toEqual([both[0]]);
  await post('/jobs/made-2/signals/approval', { ok: true });
  expect(await listed('waitingFor=approval')).toEqual([both[1]]);
  await post('/jobs/made-1/cancel');
  expect(await listed('waitingFor=approval')).toEqual([]);
});

test('a name that no signal can have is refused', async () => {
  for (const name of ['', 'a"b', '%25', '**']) {
    expect(await get(`/jobs?waitingFor=${name}`)).toMatchObject({
      status: 400,
      body: { code: 'bad_input', path: '?waitingFor' },
    });
  }
});
