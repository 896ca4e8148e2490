import { expect, test } from 'vitest';
import { fragmentResult, queryJob, samplePlan } from '../../../test/rig/query-job.ts';
import { taskNo } from '../../scheduler/core/index.ts';
import type { JobId, NamedBatch } from '../../scheduler/core/index.ts';
import type { QueryPlan } from '../../sql/plan/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { ScriptedWorker, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { QueryViews } from './query-views.ts';

const TTL_MS = 600_000;
const id = 'q-1' as JobId;

/** Notes the reads that reach the store. */
function watched(inner: Store, noted: string[]): Store {
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        noted.push(String(name));
        return value.apply(target, args) as unknown;
      };
    },
  });
}

test('the rows of a query that has just ended are known from its commit', async () => {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const reads: string[] = [];
  const views = new QueryViews({ store: watched(store, reads), clock, resultTtlMs: TTL_MS });
  const batches: NamedBatch[] = [];
  const { leader } = await lead(store, clock, { onRows: (rows) => void batches.push(rows) });
  await leader.loaded;
  const { document, seeds } = queryJob(samplePlan, {});
  await leader.jobs.submitParsed(document, { jobId: id, seeds });
  const worker = await ScriptedWorker.join(leader, 'w-1', ['sql.fragment']);
  for (let asked = await worker.pollNow(10); asked.length > 0; asked = await worker.pollNow(10))
    for (const { lease, taskId } of asked) await worker.complete(lease, fragmentResult(taskId, {}));

  const stored = await views.record(id);
  const fromStore = reads.splice(0);
  expect(fromStore.length).toBeGreaterThan(0);
  expect(stored).toMatchObject({ state: 'succeeded' });

  const fresh = new QueryViews({ store: watched(store, reads), clock, resultTtlMs: TTL_MS });
  for (const rows of batches) fresh.committed(rows);
  // Nobody knowing these views of the plan: they know of no query.
  await fresh.record(id);
  expect(reads.splice(0)).not.toEqual([]);

  const knowing = new QueryViews({ store: watched(store, reads), clock, resultTtlMs: TTL_MS });
  knowing.tell(id, seeds.get(taskNo(0))?.result ?? '');
  for (const rows of batches) knowing.committed(rows);
  expect(await knowing.record(id)).toEqual(stored);
  expect(reads).toEqual([]);

  await clock.advance(60_000);
  expect(await knowing.record(id)).toMatchObject({ state: 'succeeded', parts: stored?.parts });
  expect(reads).not.toEqual([]);
});

test('a query that gets the id of one that was removed is not taken for it', async () => {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const views = new QueryViews({ store, clock, resultTtlMs: TTL_MS });
  const { leader } = await lead(store, clock, { onRows: (rows) => views.committed(rows) });
  await leader.loaded;
  const submit = async (plan: QueryPlan): Promise<string> => {
    const { document, seeds } = queryJob(plan, {});
    await leader.jobs.submitParsed(document, { jobId: id, seeds });
    return seeds.get(taskNo(0))?.result ?? '';
  };
  const run = async (node: string): Promise<void> => {
    const worker = await ScriptedWorker.join(leader, node, ['sql.fragment']);
    for (let asked = await worker.pollNow(10); asked.length > 0; asked = await worker.pollNow(10))
      for (const { lease, taskId } of asked)
        await worker.complete(lease, fragmentResult(taskId, {}));
  };
  const named = (name: string): QueryPlan => ({
    ...samplePlan,
    columns: [{ name, type: 'BIGINT' }],
  });
  await submit(named('first'));
  await run('w-1');
  expect((await views.query(id)).value?.columns).toMatchObject([{ name: 'first' }]);
  await leader.jobs.remove(id);

  await clock.advance(60_000);
  await submit(named('second'));
  await run('w-2');
  expect((await views.record(id))?.plan.columns).toMatchObject([{ name: 'second' }]);
  await leader.jobs.remove(id);

  // The one before was asked for a moment ago.
  views.tell(id, await submit(named('third')));
  const third = { state: 'queued', plan: { columns: [{ name: 'third' }] } };
  expect(await views.record(id)).toMatchObject(third);
  await run('w-3');
  expect((await views.record(id))?.plan.columns).toMatchObject([{ name: 'third' }]);
});
