import { expect, test } from 'vitest';
import { fragmentResult } from '../../../test/rig/query-job.ts';
import { EXAMPLE_TABLES, examplePlan } from '../../../test/sql/plan/example-plan.ts';
import { ScriptedWorker, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { defaultSettings } from '../../scheduler/core/index.ts';
import type { JobDocument, JobId } from '../../scheduler/core/index.ts';
import { QUERY_JOB_DEFAULTS, decide, explainAnalyze, queryJob } from '../../sql/plan/index.ts';
import type { QueryPlan } from '../../sql/plan/index.ts';
import { QueryViews } from './query-views.ts';

const MIB = 2 ** 20;
const id = 'q-1' as JobId;

/** Without required capabilities, which a scripted worker does not have. */
const anywhere = (document: JobDocument): JobDocument => ({
  ...document,
  tasks: document.tasks.map((task) => ({
    ...task,
    options: { ...task.options, placement: { ...task.options.placement, capabilities: {} } },
  })),
});

interface SubmittedQuery {
  readonly views: QueryViews;
  /** Completes every task that can run now with the result that `made` gives, by its index; returns their ids. */
  readonly run: (made: (at: number) => object) => Promise<readonly string[]>;
}

/** A leader that decides for `plan`, and a worker. */
async function submitted(plan: QueryPlan): Promise<SubmittedQuery> {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const planner = { plan: (): never => expect.fail('nothing is planned here'), decide };
  const { leader } = await lead(store, clock, { planner });
  await leader.loaded;
  const job = queryJob(plan, EXAMPLE_TABLES, defaultSettings, QUERY_JOB_DEFAULTS);
  await leader.jobs.submitParsed(anywhere(job.document), { jobId: id, seeds: job.seeds });
  const worker = await ScriptedWorker.join(leader, 'w', ['sql.fragment']);
  return {
    views: new QueryViews({ store, clock, resultTtlMs: 60_000 }),
    run: async (made) => {
      const taken = await worker.pollNow(100);
      for (const [at, { lease, taskId }] of taken.entries())
        await worker.complete(lease, fragmentResult(taskId, made(at)));
      worker.held.length = 0;
      return taken.map(({ taskId }) => taskId);
    },
  };
}

test('a scan waits for the keys of its runtime filter, and the query shows the filter', async () => {
  const plain = examplePlan();
  const { relation = '' } = plain.stages[1]?.fragment.scans[0] ?? {};
  const plan: QueryPlan = {
    ...plain,
    analyze: true,
    filters: [
      {
        ...{ stage: 1, relation, column: 0, type: 'BIGINT', name: 't.k', matchesNull: false },
        keys: { stage: 0, column: 0 },
      },
    ],
  };
  const { views, run } = await submitted(plan);
  const parts = Array.from({ length: 4 }, () => ({ rows: 3, bytes: 9, segments: [] }));
  const keys = (at: number): object => ({
    parts,
    keys: [{ hasNull: false, min: `${at}`, max: `${at}`, values: [`${at}`] }],
  });
  expect(await run(keys)).toEqual(['s0.0', 's0.1', 's0.2', 's0.3']);
  const { value: half } = await views.query(id);
  expect(half?.stages[1]).toMatchObject({
    filters: [{ name: 't.k', from: 0, rows: 48, by: 'list', keys: 4 }],
    filteredRows: null,
  });
  const { metrics } = fragmentResult('s1.0');
  const counted = (): object => ({
    parts,
    metrics: { ...metrics, rowsIn: 250, filteredRows: 100 },
  });
  expect(await run(counted)).toEqual(['s1.0', 's1.1', 's1.2', 's1.3']);
  const { value: then } = await views.query(id);
  expect(then?.stages[1]).toMatchObject({ state: 'succeeded', filteredRows: 400 });
  expect(then?.stages[0]).toMatchObject({ filters: [], filteredRows: null });
  const text = explainAnalyze(plan, then?.stages ?? []);
  expect(text).toContain('│ ~ t.k filtered by the keys of stage 0\n');
  expect(text).toContain('│ = t.k filtered by 4 keys of stage 0 (48 rows)\n');
  expect(text).toContain('│ = 400 of 1,000 rows left out by filters\n');
});

test.each([
  [1_000, true],
  [100, false],
])(
  'a side of 480 bytes is broadcast up to %i bytes: %s, and the query shows it',
  async (thresholdBytes, isBroadcast) => {
    const plain = examplePlan();
    const { fragment } = plain.stages[2] ?? expect.fail('There is no join.');
    const join = { stage: 2, build: 1, probe: 0, fragment, relation: 'stage1_all' };
    const plan: QueryPlan = {
      ...plain,
      stages: plain.stages.map((stage) => ({ ...stage, estimate: { rows: 48, bytes: 480 } })),
      coalesce: { targetBytes: MIB },
      joins: [{ ...join, thresholdBytes, probeBytes: null }],
    };
    const { views, run } = await submitted(plan);
    const parts = Array.from({ length: 4 }, () => ({ rows: 3, bytes: 9, segments: [] }));
    expect(await run(() => ({ parts }))).toEqual(['s1.0', 's1.1', 's1.2', 's1.3']);
    const { value: then } = await views.query(id);
    expect(then?.stages[2]?.join).toEqual({
      ...{ build: 1, rows: 48, bytes: 480, thresholdBytes, probe: 0, isBroadcast },
    });
    const text = explainAnalyze(plan, then?.stages ?? []);
    expect(text).toMatch(/│ ~ waits for stage 1, and is left out if that has at most \d+ B\n/);
    expect(text).toMatch(/│ ~ runs stage 0 itself, with all of stage 1, if that has at most/);
    expect(text).toContain(
      isBroadcast
        ? '│ = stage 1 has 48 rows of 480 B: broadcast, stage 0 is not exchanged\n'
        : '│ = stage 1 has 48 rows of 480 B, over 100 B: both sides are exchanged\n',
    );
    // The tasks of the other side have ended with the decision, and nothing is grouped: all in the same commit.
    expect(await run(() => ({ parts }))).toEqual(
      [0, 1, 2, 3].map((at) => `s${isBroadcast ? 2 : 0}.${at}`),
    );
    expect(then?.stages[0]?.state).toBe(isBroadcast ? 'succeeded' : 'waiting');
    expect(then?.stages[2]?.grouping).toBeNull();
  },
);

test('partitions are grouped into fewer tasks, and the query shows the grouping', async () => {
  const plan: QueryPlan = { ...examplePlan(), coalesce: { targetBytes: 64 * MIB } };
  const { views, run } = await submitted(plan);
  const sizes = (bytes: readonly number[]) => () => ({
    parts: bytes.map((each) => ({ rows: 10, bytes: each, segments: [] })),
  });
  expect(await run(sizes([MIB / 4, 100, MIB / 8, 200]))).toHaveLength(8);
  const { value: half } = await views.query(id);
  expect(half?.stages.map(({ grouping }) => grouping?.tasks ?? null)).toEqual([
    ...[null, null, 3, null, null],
  ]);
  expect(half?.stages[2]).toMatchObject({
    tasks: { total: 4, queued: 3, succeeded: 1 },
    grouping: { partitions: 4, rows: 320, bytes: 3 * MIB + 2_400, slots: 1_000 },
  });
  expect(await run(sizes([10, 10, 10, 10]))).toEqual(['s2.0', 's2.1', 's2.3']);
  expect(await run(sizes([50]))).toEqual(['s3.0']);
  expect(await run(sizes([5]))).toEqual(['s4.0']);
  const { value: done } = await views.query(id);
  expect(done).toMatchObject({ state: 'succeeded' });
  expect(done?.stages[3]).toMatchObject({
    state: 'succeeded',
    tasks: { total: 4, succeeded: 4 },
    grouping: { partitions: 4, tasks: 1, rows: 120, bytes: 120, targetBytes: 64 * MIB },
  });
  const text = explainAnalyze(plan, done?.stages ?? []);
  expect(text).toContain(
    '│ = 4 partitions of 120 B read by 1 task (target 64.0 MiB, 1,000 slots)\n',
  );
  expect((await views.record(id))?.parts).toHaveLength(1);
});
