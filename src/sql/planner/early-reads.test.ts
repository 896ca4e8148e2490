import { expect, test } from 'vitest';
import type { JobId, NodeId } from '../../scheduler/core/index.ts';
import { samplePlan } from '../../../test/rig/query-job.ts';
import type { FragmentResult, QueryPlan, Stage } from '../plan/index.ts';
import { NO_METRICS } from '../plan/index.ts';
import { EarlyReads } from './early-reads.ts';

const [producer, last] = samplePlan.stages as readonly [Stage, Stage];
const PARTITIONS = 3;

/** Two stages of four and two tasks, whose partitions three tasks of a third one read. */
const joined: QueryPlan = {
  ...samplePlan,
  stages: [
    { ...producer, tasks: 4, output: { kind: 'hash', by: ['c0'], partitions: PARTITIONS } },
    { ...producer, id: 1, tasks: 2, output: { kind: 'hash', by: ['c0'], partitions: PARTITIONS } },
    {
      ...last,
      ...{ id: 2, tasks: PARTITIONS },
      fragment: {
        ...last.fragment,
        inputs: [0, 1].map((stage) => ({
          ...{ relation: `i${stage}`, stage, mode: 'partition' as const, columns: [] },
        })),
      },
    },
  ],
};

function early(more: { percent?: number; minBytes?: number; plan?: QueryPlan } = {}) {
  const { percent = 50, minBytes = 10, plan = joined } = more;
  const reads = new EarlyReads({ earlyFetchPercent: percent, earlyFetchMinBytes: minBytes });
  return (stage: number, task: number, fence = 1, bytes: readonly number[] = [10, 20, 30]) => {
    const taskId = `s${stage}.${task}`;
    const place = { address: '127.0.0.1:1', folder: '/f', index: 'hash', epoch: fence, layout: 1 };
    const result: FragmentResult = {
      at: { task: taskId, fence, node: 'w', ...place },
      parts: bytes.map((each) => ({
        ...{ rows: each, bytes: each, segments: each === 0 ? [] : [[each, 1] as const] },
      })),
      ...{ inline: null, metrics: NO_METRICS },
    };
    const held = { stage, task, taskId, fence, attempt: 1, nodeId: 'w' as NodeId, address: null };
    const found = reads.committed(plan, { query: 'q' as JobId, ...held }, JSON.stringify(result));
    return found.map(({ reader, read }) => {
      const { at, partition } = JSON.parse(read) as {
        at: { task: string; fence: number };
        partition: number;
      };
      return `${at.task}/${at.fence} p${partition} for ${reader}`;
    });
  };
}

/** Task 0 is the plan, 1 to 4 and 5 to 6 are the producers. */
const of = (output: string): string[] => [0, 1, 2].map((p) => `${output} p${p} for ${7 + p}`);

test('outputs are hinted when the share of producers has ended, of all stages that are read, each once', () => {
  const ended = early();
  expect(ended(0, 0)).toEqual([]);
  expect(ended(1, 1)).toEqual([]);
  expect(ended(0, 2)).toEqual([...of('s0.0/1'), ...of('s1.1/1'), ...of('s0.2/1')]);
  expect(ended(0, 1)).toEqual(of('s0.1/1'));
  expect(ended(0, 1)).toEqual([]);
});

test('nothing is hinted when all producers have ended: the tasks are ready then', () => {
  const ended = early({ percent: 0 });
  for (const task of [0, 1, 2]) ended(0, task);
  ended(1, 0);
  expect(ended(1, 1)).not.toEqual([]);
  expect(ended(0, 3)).toEqual([]);
});

test('a new attempt is hinted anew, with its own fence', () => {
  const ended = early({ percent: 1 });
  expect(ended(0, 0, 1)).toEqual(of('s0.0/1'));
  expect(ended(0, 0, 2)).toEqual(of('s0.0/2'));
});

test('small and empty partitions are left to the tasks', () => {
  expect(early({ percent: 1 })(0, 0, 1, [9, 10, 0])).toEqual(['s0.0/1 p1 for 8']);
  expect(early({ percent: 1, minBytes: 0 })(0, 0, 1, [1, 0, 0])).toEqual(['s0.0/1 p0 for 7']);
});

test('with 100 percent nothing is hinted', () => {
  const ended = early({ percent: 100 });
  for (let task = 0; task < 4; task += 1) expect(ended(0, task)).toEqual([]);
});

test('inputs that all tasks read, or of joins that are not decided, are not hinted', () => {
  const everything = {
    ...joined,
    stages: joined.stages.map((stage) => ({
      ...stage,
      fragment: {
        ...stage.fragment,
        inputs: stage.fragment.inputs.map((input) => ({ ...input, mode: 'all' as const })),
      },
    })),
  };
  expect(early({ percent: 1, plan: everything })(0, 0)).toEqual([]);
  const join = { build: 1, probe: 0, relation: 'i1', thresholdBytes: 1, probeBytes: null };
  const undecided = { ...joined, joins: [{ stage: 2, fragment: last.fragment, ...join }] };
  expect(early({ percent: 1, plan: undecided })(0, 0)).toEqual([]);
});
