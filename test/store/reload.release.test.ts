/** A leader's memory can be dropped after any commit, whatever the store: the next one goes on as if
 * nothing had happened. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JobId, TaskId } from '../../src/scheduler/core/index.ts';
import { openDuckdbStore } from '../../src/scheduler/store/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../rig/lead.ts';
import type { Led } from '../rig/lead.ts';
import { VirtualClock } from '../rig/virtual-clock.ts';
import { openTestStore } from '../rig/millrace-database.ts';

const JOBS = ['chain', 'broken', 'stopped', 'keyed', 'twin'];
const task = (id: string, more: object = {}): object => ({ id, executor: 'echo', ...more });

/** What people see of the jobs in the end. Terms and times differ from run to run. */
async function outcome(store: Store): Promise<unknown> {
  const views = await Promise.all(JOBS.map((name) => store.job(0, name as JobId)));
  return views.map((view) => ({
    job: [view?.job.id, view?.job.state, view?.job.run, view?.job.error],
    tasks: view?.tasks.map(({ spec, task: { state, run, attempt, failures, fence }, result }) => {
      return [spec.id, state, run, attempt, failures, fence, result];
    }),
    history: view?.history.map(({ taskNo, run, state }) => [taskNo, run, state]),
  }));
}

/** The same story on any store; `between` happens after each of its steps. */
async function tell(store: Store, between: (led: Led) => Promise<Led>): Promise<unknown> {
  let led = await lead(store, new VirtualClock());
  await led.leader.loaded;
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  const next = async (): Promise<void> => {
    led = await between(led);
    worker.leader = led.leader;
  };
  const submit = async (name: string, document: object): Promise<void> => {
    await led.leader.jobs.submit({ name, ...document }, { jobId: jobId(name) });
    await next();
  };
  const run = async (fails: (id: string) => boolean = () => false): Promise<void> => {
    for (;;) {
      const [assignment] = await worker.pollNow(1);
      await next();
      if (assignment === undefined) return;
      const { lease, taskId } = assignment;
      const error = { code: 'broken', message: 'it broke' };
      const item = fails(taskId)
        ? ({ kind: 'failed', lease, error, failure: 'fatal' } as const)
        : ({ kind: 'completed', lease, result: JSON.stringify(`${taskId} done`) } as const);
      await led.leader.workers.report(worker.session, [{ kind: 'started', lease }, item]);
      worker.held.length = 0;
      await next();
    }
  };
  await submit('chain', { tasks: [task('a'), task('b', { dependsOn: ['a'] })] });
  await run();
  await submit('broken', {
    tasks: [task('x'), task('y', { dependsOn: ['x'] }), task('z', { dependsOn: ['y'] })],
  });
  await run((id) => id === 'y');
  await led.leader.jobs.rerun('broken' as JobId, 1);
  await next();
  await run();
  await submit('stopped', { tasks: [task('never', { executor: 'nobody' })] });
  await led.leader.jobs.cancel('stopped' as JobId, 'enough');
  await next();
  await submit('keyed', { tasks: [task('pay', { idempotencyKey: 'k' })] });
  await submit('twin', { tasks: [task('pay', { idempotencyKey: 'k' })] });
  await run();
  expect(await led.leader.jobs.explain('twin' as JobId, 'pay' as TaskId)).toBeNull();
  return outcome(store);
}

const stay = (led: Led): Promise<Led> => Promise.resolve(led);

function replaced(store: Store): (led: Led) => Promise<Led> {
  return async (led) => {
    await store.resign(led.leader.term);
    const after = await lead(store, new VirtualClock());
    await after.leader.loaded;
    return after;
  };
}

describe('a new leader after every step changes nothing', () => {
  const expected = (): Promise<unknown> => tell(memoryStore(new VirtualClock()), stay);

  test('the scenario ends in the expected state', async () => {
    const store = memoryStore(new VirtualClock());
    await tell(store, stay);
    const jobs = await Promise.all(JOBS.map((name) => store.jobRow(0, name as JobId)));
    const states = ['succeeded', 'succeeded', 'cancelled', 'succeeded', 'succeeded'];
    expect(jobs.map((job) => job?.state)).toEqual(states);
  });

  test('on the memory store', async () => {
    const store = memoryStore(new VirtualClock());
    expect(await tell(store, replaced(store))).toEqual(await expected());
  });

  test('on DuckDB', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-reload-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = await openDuckdbStore({ path: join(folder, 'store.duckdb') });
    expect(await tell(store, replaced(store))).toEqual(await expected());
    await store.close();
  });

  test('on PostgreSQL', async () => {
    const { store } = await openTestStore();
    expect(await tell(store, replaced(store))).toEqual(await expected());
  });
});
