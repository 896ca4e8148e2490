import { describe, expect, test } from 'vitest';
import { fragmentResult, samplePlan } from '../../../test/rig/query-job.ts';
import type { JobId, NodeId } from '../../scheduler/core/index.ts';
import type { HeldFragment } from '../../scheduler/contract/index.ts';
import type { Stage } from '../plan/index.ts';
import { resultFault } from './check-result.ts';

const HELD: HeldFragment = {
  ...{ query: 'q' as JobId, taskId: 's0.1', stage: 0, task: 1, fence: 1, attempt: 1 },
  nodeId: 'w' as NodeId,
  address: null,
};
const [scan, last] = samplePlan.stages as [Stage, Stage];
const good = fragmentResult('s0.1');

test('accepts what a worker reports', () => {
  expect(resultFault(JSON.stringify(good), HELD, scan)).toBeNull();
  const small = { ...good, parts: [{ rows: 1, bytes: 0, segments: [] }] };
  const columns = ['a', 'b'].map((name) => ({ name, type: 'BIGINT' }));
  const stage: Stage = { ...last, fragment: { ...last.fragment, columns } };
  const faultOf = (inline: unknown): string | null =>
    resultFault(JSON.stringify({ ...small, inline }), HELD, stage);
  const row = [1, '2'];
  for (const parquet of ['AAAA', null]) {
    expect(faultOf({ parquet, rows: [row, [null, true]] })).toBeNull();
    for (const other of [[], [...row, 2]])
      expect(faultOf({ parquet, rows: [row, other] })).toContain('but its stage has');
  }
  const nested = [1, [1]];
  expect(faultOf({ parquet: 'AAAA', rows: [nested] })).toBeNull();
  expect(faultOf({ parquet: null, rows: [nested] })).toContain('not plain, and no file');
  expect(faultOf({ parquet: 'AAAA', rows: null })).toBeNull();
  expect(faultOf({ parquet: null, rows: null })).toContain('no list at inline/rows');
  expect(faultOf({ parquet: 7, rows: [row] })).toContain('not base64');
});

const { at, parts, metrics } = good;
const part = { rows: 1, bytes: 5, segments: [[5, 1]] };

test.each([
  ['{', 'is not JSON'],
  [null, 'has no object at it'],
  [[], 'has no object at it'],
  [{}, 'has no object at at'],
  [{ ...good, at: { ...at, task: 's0.0' } }, 'names the task "s0.0"'],
  [{ ...good, at: { ...at, fence: 2 } }, 'names the fence 2 instead of 1'],
  [{ ...good, at: { ...at, node: 'other' } }, 'names the node "other" instead of w'],
  [{ ...good, at: { ...at, address: 7 } }, 'has no short text at at/address'],
  [{ ...good, at: { ...at, folder: 'x'.repeat(5_000) } }, 'has no short text at at/folder'],
  [{ ...good, at: { ...at, epoch: -1 } }, 'has no non-negative integer at at/epoch'],
  [{ ...good, parts: parts.slice(1) }, 'has 1 partitions, but its stage has 2'],
  [{ ...good, parts: [part, { ...part, rows: 1.5 }] }, 'at parts/1/rows'],
  [{ ...good, parts: [part, { ...part, bytes: 6 }] }, 'has segments of 5 bytes at parts/1'],
  [{ ...good, parts: [part, { ...part, segments: [[5]] }] }, 'not a pair at parts/1'],
  [{ ...good, parts: [part, { ...part, segments: 5 }] }, 'has no list at parts/1/segments'],
  [{ ...good, inline: { parquet: '', rows: null } }, 'its stage is not the last one'],
  [{ ...good, metrics: { ...metrics, runMs: 'long' } }, 'at metrics/runMs'],
  [{ ...good, metrics: null }, 'has no object at metrics'],
  [{ ...good, metrics: { ...metrics, filteredRows: -1 } }, 'at metrics/filteredRows'],
])('refuses %j', (given, words) => {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  expect(resultFault(text, HELD, scan)).toContain(words);
});

describe('keys of an output', () => {
  const columns = [{ name: 'c0', type: 'BIGINT' }];
  const stage: Stage = { ...scan, fragment: { ...scan.fragment, columns } };
  const known = { hasNull: false, min: '1', max: '2', values: ['1', '2'] };
  const fault = (keys: unknown): string | null =>
    resultFault(JSON.stringify({ ...good, keys }), HELD, stage);

  test('are accepted as a worker reports them', () => {
    for (const keys of [
      known,
      { ...known, values: null },
      { ...known, min: null, max: null },
      null,
    ])
      expect(fault([keys])).toBeNull();
  });

  test.each([
    ['no list', 7, 'has no list at keys'],
    ['too many columns', [null, null], 'has more keys than columns'],
    ['a number for a flag', [{ ...known, hasNull: 1 }], 'has no boolean at keys/0/hasNull'],
    ['one bound', [{ ...known, min: null }], 'has one bound only at keys/0'],
    ['a number for a key', [{ ...known, values: [7] }], 'has no short text at keys/0'],
    ['a long text', [{ ...known, max: 'x'.repeat(5_000) }], 'has no short text at keys/0'],
    ['a bitmap that is none', [{ ...known, bits: "'" }], 'has no bitmap at keys/0/bits'],
    ['a NUL character', [{ ...known, values: ['a\0'] }], 'has a NUL character at keys/0'],
    [
      'too many keys',
      [{ ...known, values: Array.from({ length: 1_001 }, () => '1') }],
      'has more than 1000 keys at keys/0',
    ],
  ])('are refused with %s', (_, keys, words) => {
    expect(fault(keys)).toContain(words);
  });
});
