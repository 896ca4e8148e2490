import { expect, test } from 'vitest';
import { single } from '../rig/cluster/single.ts';
import { until } from '../rig/until.ts';

interface Job {
  readonly id: string;
  readonly state: string;
  readonly run: number;
  readonly result: unknown;
}

test('a bulk job survives SIGKILL of its leader, and acts on each job once', async () => {
  const solo = await single();
  const call = async <T>(path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${solo.url}/api/v1/${path}`, {
      ...(body === undefined
        ? {}
        : {
            method: 'POST',
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json' },
          }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const ended = async (id: string): Promise<unknown> => {
    let job: Job | null = null;
    await until(async () => {
      job = await call<Job>(`jobs/${id}`);
      return job.state === 'succeeded';
    }, 'the bulk job to succeed');
    return (job as Job | null)?.result;
  };
  const first = solo.start();
  await first.line(/^millrace ready/, 60_000);
  const stuck = { name: 'stuck', labels: { team: 'a' }, tasks: [{ id: 'a', executor: 'nobody' }] };
  for (let no = 0; no < 4; no += 1) await call('jobs', stuck);
  await call('jobs', { ...stuck, labels: { team: 'b' } });
  const filter = { state: 'queued', labels: ['team:a'] };
  const cancels = await call<Job>('bulk', { action: 'cancel', filter });
  expect(await ended(cancels.id)).toMatchObject({ found: 4, changed: 4, failed: 0 });
  const reruns = await call<Job>('bulk', { action: 'rerun', filter: { name: 'stuck' } });
  await first.crash();
  await solo.start().line(/^millrace ready/, 60_000);
  expect(await ended(reruns.id)).toMatchObject({ found: 5, changed: 4, unchanged: 1 });
  const { jobs } = await call<{ jobs: readonly Job[] }>('jobs?name=stuck');
  expect(jobs.map(({ state, run }) => [state, run])).toEqual([
    ['queued', 1],
    ...Array.from({ length: 4 }, () => ['queued', 2]),
  ]);
}, 180_000);
