import { describe, expect, test } from 'vitest';
import { fragment, fragmentTask } from '../../../test/rig/fragment-node.ts';
import type { Json } from '../../scheduler/core/index.ts';
import type { PartitionRead } from '../plan/index.ts';
import { readFragmentTask } from './task-input.ts';

const read = (task: string, partition: number): PartitionRead => ({
  at: {
    ...{ task, fence: 1, node: 'n', address: null, folder: '/f', index: 'i' },
    ...{ epoch: 1, layout: 1 },
  },
  partition,
  part: { rows: 1, bytes: 1, segments: [[1, 1]] },
});

/** A task that joins two inputs of two producers each: `s0.0/1` is partition 1 of the first producer. */
const task = (reads: readonly string[], version?: number): Json => {
  const list = reads.map((each) => each.split('/')).map(([id = '', at]) => read(id, Number(at)));
  const inputs = [0, 1].map((stage) => ({
    ...{ relation: `stage${stage}`, stage, mode: 'partition' as const, columns: [] },
  }));
  return fragmentTask({
    ...(version === undefined ? {} : { version }),
    fragment: fragment({ inputs }),
    reads: {
      stage0: list.filter(({ at }) => at.task.startsWith('s0')),
      stage1: list.filter(({ at }) => at.task.startsWith('s1')),
    },
  }) as unknown as Json;
};

const WHOLE = ['s0.0/1', 's0.1/1', 's1.0/1', 's1.1/1'];
const SLICE = ['s0.0/1', 's1.0/1', 's1.1/1'];

describe('a worker that is given a task over partitions', () => {
  test('takes whole ones, and one that is split if the task says so', () => {
    expect(() => readFragmentTask(task(WHOLE))).not.toThrow();
    expect(() => readFragmentTask(task(SLICE, 5))).not.toThrow();
    expect(() => readFragmentTask(task(['s0.1/0', ...SLICE, 's1.0/2'], 5))).toThrow(/different/);
    const both = ['s0.0/1', 's0.0/2', 's0.1/2', 's1.0/1', 's1.0/2', 's1.1/1', 's1.1/2'];
    expect(() => readFragmentTask(task(both, 5))).not.toThrow();
  });

  test.each([
    [
      'of different partitions',
      ['s0.0/1', 's0.1/1', 's1.0/2', 's1.1/2'],
      undefined,
      /different partitions/,
    ],
    ['of different partitions, split', ['s0.0/1', 's1.0/2', 's1.1/2'], 5, /different partitions/],
    ['without one of the inputs', ['s0.0/1', 's0.1/1'], 5, /different partitions/],
    ['twice', ['s0.0/1', ...WHOLE], 5, /not in the order/],
    ['of a later version', WHOLE, 6, /runs versions up to 5/],
  ])('refuses partitions %s', (_, reads, version, why) => {
    expect(() => readFragmentTask(task(reads, version))).toThrow(why);
  });
});
