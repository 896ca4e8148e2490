import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobNo, taskNo } from '../../../src/scheduler/core/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import * as any from './arbitraries.ts';
import type { Bench } from './bench.ts';
import { aJob, aSpec, aTask, jobId, succeeded } from './rows.ts';

const RUNS = 60;
const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function rowTests({ store, newLeader }: Bench): void {
  test('of jobs, specs and tasks come back as they were written', async () => {
    const tasks = fc.tuple(any.spec(1, 0), any.task(1, 0), any.spec(2, 0), any.task(2, 0));
    await fc.assert(
      fc.asyncProperty(any.jobs(2), tasks, any.task(1, 0), async (jobs, parts, update) => {
        const leader = await newLeader();
        const [spec1, task1, spec2, task2] = parts;
        const [specInserts, taskInserts] = [
          [spec1, spec2],
          [task1, task2],
        ];
        await leader.commit({ jobInserts: jobs, specInserts, taskInserts });
        for (const [at, job] of jobs.entries()) {
          const view = await store().job(leader.shard, job.id);
          const [spec, task] = [specInserts[at], taskInserts[at]];
          expect(view).toEqual({ job, tasks: [{ spec, task, result: null }], history: [] });
          if (job.idempotencyKey === null) continue;
          expect(await store().jobIdForKey(leader.shard, job.idempotencyKey)).toBe(job.id);
        }
        await leader.commit({ archived: [ref(1, 0)], taskUpdates: [update] });
        const view = await store().job(leader.shard, jobs[0]?.id ?? jobId(''));
        expect(view).toMatchObject({ tasks: [{ task: update }], history: [task1] });
        const inputs = await store().inputs(leader.shard, [ref(1, 0)]);
        expect(inputs.get(refKey(jobNo(1), taskNo(0))) ?? null).toBe(spec1.input);
      }),
      { numRuns: RUNS },
    );
  });

  test('of jobs come back as they were updated', async () => {
    await fc.assert(
      fc.asyncProperty(any.jobs(1), any.jobs(1), async ([first], [second]) => {
        if (first === undefined || second === undefined) return;
        const leader = await newLeader();
        await leader.submit(first);
        const { state, run, taskCount, stopping, error, startedAt, finishedAt } = second;
        const mutable = { state, run, taskCount, stopping, error, startedAt, finishedAt };
        const updated = { ...first, ...mutable };
        await leader.commit({ jobUpdates: [updated] });
        expect((await store().job(leader.shard, first.id))?.job).toEqual(updated);
      }),
      { numRuns: RUNS },
    );
  });

  test('of results, steps and keys come back as they were written', async () => {
    const names = fc.uniqueArray(any.anyText, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(any.body, names, any.keys(), async (body, stepNames, keys) => {
        const leader = await newLeader();
        await leader.submit(aJob(1), [aSpec(1, 0)], [succeeded(1, 0)]);
        const steps = stepNames.map((name) => ({ ...ref(1, 0), run: 1, name, body }));
        const results = [{ ...ref(1, 0), run: 1, body }];
        await leader.commit({ results, steps, keyUpserts: keys });
        const found = await store().results(leader.shard, [ref(1, 0)]);
        expect(found).toEqual(new Map([[refKey(jobNo(1), taskNo(0)), body]]));
        const stored = await store().steps(leader.shard, ref(1, 0), 1);
        const byName = (a: { name: string }, b: { name: string }) => byText(a.name, b.name);
        expect(stored.toSorted(byName)).toEqual(steps.toSorted(byName));
        const storedKeys = await store().keys(
          leader.shard,
          keys.map((key) => key.scope),
        );
        const byScope = (a: { scope: string }, b: { scope: string }) => byText(a.scope, b.scope);
        expect(storedKeys.toSorted(byScope)).toEqual(keys.toSorted(byScope));
      }),
      { numRuns: RUNS },
    );
  });

  test('of signals come back as they were written, without their bodies', async () => {
    await fc.assert(
      fc.asyncProperty(any.signals(1), async (signals) => {
        const leader = await newLeader();
        await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
        await leader.commit({ signalInserts: signals });
        const image = await store().loadJob(leader.shard, jobId('job-1'));
        const inOrder = signals.toSorted((a, b) => a.no - b.no);
        expect(image?.signals).toEqual(inOrder.map((signal) => ({ ...signal, body: '' })));
        const pending = inOrder.filter(({ taken }) => !taken);
        const takenSignals = pending.map(({ no }) => ({
          ...ref(1, 0),
          signalNo: no,
          run: 1,
          step: `${no}`,
        }));
        await leader.commit({ takenSignals });
        const steps = await store().steps(leader.shard, ref(1, 0), 1);
        expect(new Map(steps.map(({ name, body }) => [name, body]))).toEqual(
          new Map(pending.map(({ no, body }) => [`${no}`, body])),
        );
      }),
      { numRuns: RUNS },
    );
  });

  test('of nodes, schedules and events come back as they were written', async () => {
    const byId = (a: { id: string }, b: { id: string }) => byText(a.id, b.id);
    await fc.assert(
      fc.asyncProperty(any.nodes(), any.schedules(), any.events(), async (nodes, plans, events) => {
        const leader = await newLeader();
        await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
        await leader.commit({ nodeUpserts: nodes, scheduleUpserts: plans, events });
        const image = await store().loadCluster(leader.shard);
        expect(image.nodes.toSorted(byId)).toEqual(nodes.toSorted(byId));
        expect(image.schedules.toSorted(byId)).toEqual(plans.toSorted(byId));
        const stored = await store().events(leader.shard, 0, 100);
        const views = events.map((event, at) => ({
          ...event,
          seq: at + 1,
          jobId: event.jobNo === 1 ? 'job-1' : null,
          taskId: event.jobNo === 1 && event.taskNo === 0 ? 'task-0' : null,
        }));
        expect(stored).toEqual(views);
      }),
      { numRuns: RUNS },
    );
  });
}
