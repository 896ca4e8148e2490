/** What is reported of a task that goes on is proven by the commits of the term that brought it or gave it out, wherever its row is. */
import { expect, test } from 'vitest';
import { aJob, aSpec, aTask, running, succeeded } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { type Batch, batchOf, instant, jobNo, taskNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import type { Term } from '../store.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 60_000;
const REF = { jobNo: jobNo(1), taskNo: taskNo(0), run: 1 };

/** A leader whose tables have taken in everything after each commit. */
async function folded() {
  const tables = openMemoryStore({ now: () => instant(0) });
  const asked: Batch[] = [];
  const append = tables.append.bind(tables);
  tables.append = (term, ttlMs, record, unproven) => {
    if (unproven !== null) asked.push(unproven);
    return append(term, ttlMs, record, unproven);
  };
  let looks = 0;
  const stepsIn = tables.steps.bind(tables);
  tables.steps = (...args) => {
    looks += 1;
    return stepsIn(...args);
  };
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null, ttlMs: TTL_MS };
  const lead = async (id: string): Promise<Term> => {
    const campaign = await store.campaign({ ...candidacy, term: id as TermId });
    if (!campaign.won) throw new Error('nobody else is there');
    return campaign.term;
  };
  let term = await lead('first');
  let commitNo = 0;
  return {
    asked,
    nextTerm: async () => {
      await store.resign(term);
      term = await lead('second');
    },
    commit: async (parts: Partial<Batch>) => {
      commitNo += 1;
      const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(2) };
      await store
        .commit(term, TTL_MS, batchOf({ ...parts, ...counters }))
        .catch((error: unknown) => {
          commitNo -= 1;
          throw error;
        });
      // Only the tables can answer this.
      await store.nodes(0);
    },
    steps: async () => (await store.steps(0, REF, 1)).map(({ name }) => name),
    looks: () => looks,
  };
}

const submit = { jobInserts: [aJob(1)], specInserts: [aSpec(1, 0)], taskInserts: [aTask(1, 0)] };
const step = (name: string): Partial<Batch> => ({ steps: [{ ...REF, name, body: '1' }] });
const end = { taskUpdates: [succeeded(1, 0)], results: [{ ...REF, body: '2' }] };

test('a task that came in this term starts, makes steps and ends without a look at the tables', async () => {
  const { asked, commit } = await folded();
  await commit(submit);
  asked.length = 0;
  await commit({ taskUpdates: [running(1, 0)] });
  await commit(step('a'));
  await commit({ ...step('b'), taskUpdates: [running(1, 0)], jobUpdates: [aJob(1)] });
  await commit(end);
  expect(asked).toEqual([]);
});

test('a task of before this term is looked up until it is given out, and so is its result', async () => {
  const { asked, commit, nextTerm } = await folded();
  await commit(submit);
  await nextTerm();
  asked.length = 0;
  await commit({ taskUpdates: [running(1, 0)] });
  expect(asked.flatMap(({ taskUpdates }) => taskUpdates)).toHaveLength(1);
  asked.length = 0;
  await commit(step('a'));
  await commit({ ...step('b'), taskUpdates: [running(1, 0)], jobUpdates: [aJob(1)] });
  expect(asked).toEqual([]);
  // That there is no result only the tables can say.
  await commit(end);
  expect(asked.map(({ results, taskUpdates }) => [results.length, taskUpdates.length])).toEqual([
    [1, 0],
  ]);
});

test('a task that has ended is looked up again, and a second result is refused', async () => {
  const { asked, commit } = await folded();
  await commit(submit);
  await commit({ taskUpdates: [running(1, 0)] });
  await commit(end);
  asked.length = 0;
  await commit(step('late'));
  expect(asked.flatMap(({ steps }) => steps)).toHaveLength(1);
  await expect(commit(end)).rejects.toMatchObject({ code: 'bad_row' });
});

test('a task with a result that goes on all the same is not taken for one without', async () => {
  const { commit } = await folded();
  await commit(submit);
  await commit({ results: end.results, taskUpdates: [running(1, 0)] });
  await expect(commit(end)).rejects.toMatchObject({ code: 'bad_row' });
});

test('steps are looked up where there are some, or may be', async () => {
  const { commit, steps, looks, nextTerm } = await folded();
  await commit(submit);
  await commit({ taskUpdates: [running(1, 0)] });
  expect(await steps()).toEqual([]);
  expect(looks()).toBe(0);
  await commit(step('a'));
  expect(await steps()).toEqual(['a']);
  await nextTerm();
  expect(await steps()).toEqual(['a']);
});

test('the step of a signal is one of them', async () => {
  const { commit, steps } = await folded();
  const signal = { jobNo: REF.jobNo, no: 1, id: 's', name: 'go', body: '1' };
  await commit(submit);
  await commit({ signalInserts: [{ ...signal, sentAt: instant(1), taken: false }] });
  await commit({ takenSignals: [{ ...REF, signalNo: 1, step: 'signal' }] });
  expect(await steps()).toEqual(['signal']);
});
