import { expect, test } from 'vitest';
import { fragmentResult } from '../../../test/rig/query-job.ts';
import { EXAMPLE_TABLES, examplePlan } from '../../../test/sql/plan/example-plan.ts';
import { defaultSettings } from '../../scheduler/core/index.ts';
import type { JobDocument, JobId } from '../../scheduler/core/index.ts';
import {
  QUERY_JOB_DEFAULTS,
  decideGroups,
  explainAnalyze,
  queryJob,
} from '../../sql/plan/index.ts';
import type { QueryPlan } from '../../sql/plan/index.ts';
import { ScriptedWorker, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { QueryViews } from './query-views.ts';

const MIB = 2 ** 20;
const id = 'q-1' as JobId;
const PLAN: QueryPlan = { ...examplePlan(), coalesce: { targetBytes: 64 * MIB } };

/** Without what a node must have, which a scripted worker does not say. */
const anywhere = (document: JobDocument): JobDocument => ({
  ...document,
  tasks: document.tasks.map((task) => ({
    ...task,
    options: { ...task.options, placement: { ...task.options.placement, capabilities: {} } },
  })),
});

test('a query shows how its partitions were grouped into tasks, and runs no others', async () => {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const plan = (): never => expect.fail('nothing is planned here');
  const { leader } = await lead(store, clock, { planner: { plan, decide: decideGroups } });
  await leader.loaded;
  const views = new QueryViews({ store, clock, resultTtlMs: 60_000 });
  const job = queryJob(PLAN, EXAMPLE_TABLES, defaultSettings, QUERY_JOB_DEFAULTS);
  await leader.jobs.submitParsed(anywhere(job.document), { jobId: id, seeds: job.seeds });
  const worker = await ScriptedWorker.join(leader, 'w', ['sql.fragment']);
  const run = async (bytes: readonly number[]): Promise<string[]> => {
    const taken = await worker.pollNow(100);
    const parts = bytes.map((each) => ({ rows: 10, bytes: each, segments: [] }));
    for (const { lease, taskId } of taken)
      await worker.complete(lease, fragmentResult(taskId, { parts }));
    worker.held.length = 0;
    return taken.map(({ taskId }) => taskId);
  };
  expect(await run([MIB / 4, 100, MIB / 8, 200])).toHaveLength(8);
  const { value: half } = await views.query(id);
  expect(half?.stages.map(({ grouping }) => grouping?.tasks ?? null)).toEqual([
    ...[null, null, 3, null, null],
  ]);
  expect(half?.stages[2]).toMatchObject({
    tasks: { total: 4, queued: 3, succeeded: 1 },
    grouping: { partitions: 4, rows: 320, bytes: 3 * MIB + 2_400, slots: 1_000 },
  });
  expect(await run([10, 10, 10, 10])).toEqual(['s2.0', 's2.1', 's2.3']);
  expect(await run([50])).toEqual(['s3.0']);
  expect(await run([5])).toEqual(['s4.0']);
  const { value: done } = await views.query(id);
  expect(done).toMatchObject({ state: 'succeeded' });
  expect(done?.stages[3]).toMatchObject({
    state: 'succeeded',
    tasks: { total: 4, succeeded: 4 },
    grouping: { partitions: 4, tasks: 1, rows: 120, bytes: 120, targetBytes: 64 * MIB },
  });
  const text = explainAnalyze(PLAN, done?.stages ?? []);
  expect(text).toContain(
    '│ = 4 partitions of 120 B read by 1 task (target 64.0 MiB, 1,000 slots)\n',
  );
  expect((await views.record(id))?.parts).toHaveLength(1);
});
