import { describe, expect, test } from 'vitest';
import {
  defaultSettings,
  resolveInput,
  type Json,
  type TaskId,
} from '../../../scheduler/core/index.ts';
import { EXAMPLE_TABLES, examplePlan } from '../../../../test/sql/plan/example-plan.ts';
import { QUERY_JOB_DEFAULTS, queryJob } from '../job/query-job.ts';
import type { QueryPlan } from '../physical/plan.ts';
import type { FragmentResult, FragmentTask } from '../physical/task.ts';
import { coalescedStages, groupingTasks } from './coalesced-stages.ts';
import { decideGroups, type PartitionGroups } from './decide-groups.ts';

const MIB = 2 ** 20;
const PLAIN = examplePlan();
const PLAN: QueryPlan = { ...PLAIN, coalesce: { targetBytes: 64 * MIB } };
const { document, seeds } = queryJob(PLAN, EXAMPLE_TABLES, defaultSettings, {
  ...QUERY_JOB_DEFAULTS,
  processors: 4,
});

function task(id: string): (typeof document.tasks)[number] {
  const found = document.tasks.find((each) => each.id === id);
  return found ?? expect.fail(`There is no task ${id}.`);
}

/** Each producer has written this for each partition. */
const written = (bytes: readonly number[], id: TaskId): Json => ({
  at: { task: id, fence: 1, layout: 1 },
  parts: bytes.map((each) => ({ rows: each / 10, bytes: each, segments: [[each, 1]] })),
});

function resolved(id: string, resultOf: (id: TaskId) => Json): Json {
  const input = resolveInput(task(id).input, resultOf, () => 'succeeded');
  return input.ok ? input.input : expect.fail(JSON.stringify(input));
}

function decided(bytes: readonly number[], slots: number): ReturnType<typeof decideGroups> {
  return decideGroups(
    resolved('s2.groups', (id) => written(bytes, id)),
    slots,
  );
}

/** What a task of the join reads once that is decided. */
function readsOf(at: number, decision: string): FragmentTask {
  const plan = JSON.parse(seeds.get(0 as never)?.result ?? '') as Json;
  return resolved(`s2.${at}`, (id) => {
    if (id === 'plan') return plan;
    return id === 's2.groups' ? (JSON.parse(decision) as Json) : written([1, 2, 3, 4], id);
  }) as unknown as FragmentTask;
}

describe('the stages that may be coalesced', () => {
  const ids = (plan: QueryPlan): readonly number[] => coalescedStages(plan).map(({ id }) => id);
  const changed = (
    id: number,
    more: (stage: QueryPlan['stages'][number]) => object,
  ): QueryPlan => ({
    ...PLAN,
    stages: PLAN.stages.map((stage) => (stage.id === id ? { ...stage, ...more(stage) } : stage)),
  });

  test('read partitions with more than one task; none does if the plan does not say so', () => {
    expect(ids(PLAN)).toEqual([2, 3]);
    expect(ids(PLAIN)).toEqual([]);
    expect(groupingTasks(PLAN)).toEqual([
      { no: 18, stage: 2 },
      { no: 19, stage: 3 },
    ]);
  });

  test('have no rows of their own, call no code of users, and are not forwarded', () => {
    const scan = PLAN.stages[0]?.fragment.scans[0];
    const own = changed(2, ({ fragment }) => ({ fragment: { ...fragment, scans: [scan] } }));
    expect(ids(own)).toEqual([3]);
    const all = changed(2, ({ fragment }) => ({
      fragment: { ...fragment, scans: [{ ...scan, rows: 'all' }] },
    }));
    expect(ids(all)).toEqual([2, 3]);
    expect(ids(changed(3, () => ({ requires: ['geo'] })))).toEqual([2]);
    const forwarded = changed(3, ({ fragment }) => ({
      fragment: {
        ...fragment,
        inputs: fragment.inputs.map((input) => ({ ...input, mode: 'forward' })),
      },
    }));
    expect(ids(forwarded)).toEqual([]);
  });
});

describe('a decision', () => {
  test('depends on all producers of the inputs, and what reads depends on it', () => {
    const named = (id: string): readonly string[] =>
      task(id).dependsOn.map(({ no }) => document.tasks[no]?.id ?? '');
    const both = [0, 1].flatMap((stage) => [0, 1, 2, 3].map((at) => `s${stage}.${at}`));
    expect(named('s2.groups')).toEqual(both);
    expect(named('s2.3')).toEqual(['plan', ...both, 's2.groups']);
    expect(named('s4.0')).not.toContain('s2.groups');
  });

  test('adds up what all producers of all inputs have written', () => {
    const { result, detail, done } = decided([MIB / 8, 0, MIB / 8, MIB / 4], 2);
    const groups = JSON.parse(result) as PartitionGroups;
    expect(groups.bytes).toEqual([MIB, 0, MIB, 2 * MIB]);
    expect(groups.groups).toEqual([[0, 1, 2], [], [], [3]]);
    expect(groups.threads).toBe(2);
    expect(detail).toEqual({
      ...{ partitions: 4, tasks: 2, bytes: 4 * MIB },
      ...{ targetBytes: 64 * MIB, slots: 2 },
    });
    expect(done.map(({ taskId }) => taskId)).toEqual(['s2.1', 's2.2']);
    const empty = JSON.parse(done[0]?.result ?? '') as FragmentResult;
    expect(empty).toMatchObject({ at: { task: 's2.1', fence: 0, layout: 1 }, inline: null });
    const part = { rows: 0, bytes: 0, segments: [] };
    expect(empty.parts).toEqual([part, part, part, part]);
  });

  test('answers for an idle task with as many partitions as its stage writes', () => {
    const output = { kind: 'range', by: 'c0', partitions: 4 } as const;
    const sorted: QueryPlan = {
      ...PLAN,
      stages: PLAN.stages.map((stage) => (stage.id === 2 ? { ...stage, output } : stage)),
    };
    const outputsOf = (plan: QueryPlan): readonly unknown[] => {
      const job = queryJob(plan, EXAMPLE_TABLES, defaultSettings);
      const texts = job.document.tasks.slice(18).map(({ input }) => input ?? '');
      return texts.map((text) => (JSON.parse(text) as { readonly outputs: number }).outputs);
    };
    expect(outputsOf(PLAN)).toEqual([4, 1]);
    expect(outputsOf(sorted)).toEqual([4, 1]);
  });

  test('gives a task all its partitions of every producer, and one without any nothing', () => {
    const { result } = decided([10, 10, 10, 10], 8);
    const all = readsOf(0, result);
    const [relation, other] = Object.keys(all.reads) as [string, string];
    expect(all.reads[relation]).toHaveLength(16);
    expect(all.reads[other]?.map(({ partition }) => partition).toSorted()).toEqual(
      [0, 1, 2, 3].flatMap((each) => [each, each, each, each]),
    );
    expect(all.reads[relation]?.[5]).toEqual({
      at: { task: 's0.1', fence: 1, layout: 1 },
      partition: 1,
      part: { rows: 0.2, bytes: 2, segments: [[2, 1]] },
    });
    expect(all.threads).toBeUndefined();
    expect(readsOf(2, result).reads).toEqual({ [relation]: [], [other]: [] });
  });

  test('leaves a task its own partition if all are large', () => {
    const { result, done } = decided([MIB, MIB, MIB, MIB], 4);
    expect(done).toEqual([]);
    const { reads, threads } = readsOf(3, result);
    expect(threads).toBe(1);
    for (const list of Object.values(reads))
      expect(list.map(({ at, partition }) => [at.task.slice(3), partition])).toEqual([
        ['0', 3],
        ['1', 3],
        ['2', 3],
        ['3', 3],
      ]);
  });

  describe('about a partition that is much larger than the others', () => {
    const skewed: QueryPlan = {
      ...PLAN,
      coalesce: { targetBytes: 64 * MIB, skew: { factor: 5, minBytes: MIB } },
    };
    const job = queryJob(skewed, EXAMPLE_TABLES, defaultSettings, QUERY_JOB_DEFAULTS);
    const input = (id: string, resultOf: (id: TaskId) => Json): Json => {
      const template = job.document.tasks.find((each) => each.id === id)?.input ?? null;
      const found = resolveInput(template, resultOf, () => 'succeeded');
      return found.ok ? found.input : expect.fail(JSON.stringify(found));
    };
    /** Stage 0 has written a hot partition, stage 1 has not. */
    const sizes = (id: TaskId): Json =>
      written(id.startsWith('s0') ? [0, 9 * MIB, 0, MIB] : [9, 9, 9, 9], id);
    const decision = decideGroups(input('s2.groups', sizes), 4);
    const groups = JSON.parse(decision.result) as PartitionGroups;

    test('splits it by the producers of the larger input, and says so', () => {
      expect(groups.groups).toEqual([[0, 1], [1], [1], [1, 2, 3]]);
      const slices = groups.reads?.['stage0']?.map((each) => each.filter((one) => one !== 0));
      expect(slices).toEqual([
        [{ item: 1, from: 0, to: 1 }],
        [{ item: 1, from: 1, to: 2 }],
        [{ item: 1, from: 2, to: 3 }],
        [{ item: 1, from: 3, to: 4 }, 2, 3],
      ]);
      expect(groups.version).toBe(5);
      expect(decision.detail).toMatchObject({ tasks: 4, skewed: 1, split: 1 });
      expect(groups.skewed).toMatchObject([{ partition: 1, tasks: 4, stage: 0 }]);
    });

    test('has each task read its producers of one input and all of the other', () => {
      const plan = JSON.parse(job.seeds.get(0 as never)?.result ?? '') as Json;
      const given = (id: TaskId): Json => {
        if (id === 'plan') return plan;
        return id === 's2.groups' ? (JSON.parse(decision.result) as Json) : sizes(id);
      };
      const read = new Map<string, number>();
      for (const at of [0, 1, 2, 3]) {
        const { reads, version } = input(`s2.${at}`, given) as unknown as FragmentTask;
        expect(version).toBe(5);
        for (const { at: place, partition } of Object.values(reads).flat())
          read.set(`${place.task}/${partition}`, (read.get(`${place.task}/${partition}`) ?? 0) + 1);
      }
      for (const producer of [0, 1, 2, 3])
        for (const partition of [0, 1, 2, 3]) {
          expect(read.get(`s0.${producer}/${partition}`)).toBe(1);
          expect(read.get(`s1.${producer}/${partition}`)).toBe(partition === 1 ? 4 : 1);
        }
    });

    test('is made as before where nothing may be split, or nothing is known of the inputs', () => {
      const asked = input('s2.groups', sizes) as { readonly [key: string]: Json };
      const { inputs: _none, skew: _off, ...old } = asked;
      const plain = JSON.parse(decideGroups(old, 4).result) as PartitionGroups;
      expect(plain).not.toHaveProperty('reads');
      expect(plain).not.toHaveProperty('version');
      expect(plain.groups.flat()).toEqual([0, 1, 2, 3]);
      const last = JSON.parse(decideGroups(input('s3.groups', sizes), 4).result) as PartitionGroups;
      expect(new Set(last.groups.flat()).size).toBe(4);
    });
  });
});
