import { beforeEach, expect, test } from 'vitest';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { TaskId } from '../core/index.ts';
import type { Store } from '../store/index.ts';

let store: Store;
let led: Led;

beforeEach(async () => {
  const clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
});

const document = { name: 'job', idempotencyKey: 'once', tasks: [{ id: 'a', executor: 'echo' }] };
const submit = (id: string) => led.leader.jobs.submit(document, { jobId: jobId(id) });

async function endOne(state: 'succeeded' | 'failed'): Promise<void> {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  const [task] = await worker.pollNow(1);
  const lease = task!.lease;
  if (state === 'succeeded') return void (await worker.complete(lease, 7));
  const error = { code: 'broken', message: 'no' };
  await led.leader.workers.report(worker.session, [
    { kind: 'failed', lease, error, failure: 'fatal' },
  ]);
}

test('an ended job goes with its results, key and lines, and the log says so', async () => {
  const { jobs } = led.leader;
  await submit('j');
  await endOne('succeeded');
  const line = { jobId: jobId('j'), taskId: 'a' as TaskId, attempt: 1, level: 'info' } as const;
  const { at } = await store.lastSeq(0);
  await store.taskLog.append(0, [{ ...line, at, message: 'hello', fields: null }]);
  await jobs.remove(jobId('j'));
  expect(await store.job(0, jobId('j'))).toBeNull();
  expect(await store.taskLog.read(0, { jobId: jobId('j'), after: 0, limit: 9 })).toEqual([]);
  const events = await store.events(0, 0, 100);
  expect(events.at(-1)).toMatchObject({
    kind: 'job.removed',
    jobNo: null,
    detail: '{"job":"j","name":"job"}',
  });
  await expect(jobs.remove(jobId('j'))).rejects.toMatchObject({ code: 'not_found' });
  await expect(jobs.rerun(jobId('j'))).rejects.toMatchObject({ code: 'not_found' });
  // Neither its id nor its key is known any more.
  await expect(submit('j')).resolves.toMatchObject({ jobId: 'j', changed: true, state: 'queued' });
});

test('a job that is queued or running is refused, and says what to do', async () => {
  await submit('j');
  const refusal = { code: 'conflict', todo: expect.stringContaining('Cancel it first') as string };
  await expect(led.leader.jobs.remove(jobId('j'))).rejects.toMatchObject(refusal);
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await worker.pollNow(1);
  await expect(led.leader.jobs.remove(jobId('j'))).rejects.toMatchObject(refusal);
});

test('a job that was called stays for as long as its caller lives', async () => {
  await submit('j');
  const called = { name: 'called', tasks: [{ id: 'a', executor: 'echo' }] };
  await led.leader.jobs.submit(called, { jobId: jobId('j.called') });
  await led.leader.jobs.cancel(jobId('j.called'), 'enough');
  const remove = () => led.leader.jobs.remove(jobId('j.called'));
  await expect(remove()).rejects.toMatchObject({ code: 'conflict' });
  await led.leader.jobs.cancel(jobId('j'), 'enough');
  await expect(remove()).resolves.toBeUndefined();
});

test('of a removal and a rerun at the same time one wins, and the other hears of it', async () => {
  await submit('j');
  await endOne('failed');
  const { jobs } = led.leader;
  for (const acts of [
    [() => jobs.remove(jobId('j')), () => jobs.rerun(jobId('j'))],
    [() => jobs.rerun(jobId('j')), () => jobs.remove(jobId('j'))],
  ]) {
    const [first, second] = await Promise.allSettled(acts.map((act) => act()));
    expect(new Set([first?.status, second?.status])).toEqual(new Set(['fulfilled', 'rejected']));
    const isThere = (await store.jobRow(0, jobId('j'))) !== null;
    if (isThere) await jobs.cancel(jobId('j'), 'again');
    else {
      await submit('j');
      await jobs.cancel(jobId('j'), 'again');
    }
  }
  expect(led.leader.figures().reloads).toBe(0);
});
