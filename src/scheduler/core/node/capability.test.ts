import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CapabilityTest, CapabilityValue, Placement } from '../document/document.ts';
import { OPERATORS } from '../document/document.ts';
import { ANYWHERE } from '../document/placement.ts';
import type { NodeId } from '../ids.ts';
import { lacks, meets, needs, type Candidate } from './capability.ts';

const nodeId = (text: string): NodeId => text as NodeId;

function node(parts: Partial<Candidate> = {}): Candidate {
  return { id: nodeId('w-1'), executors: ['echo'], capabilities: {}, ...parts };
}

const placed = (parts: Partial<Placement>): Placement => ({ ...ANYWHERE, ...parts });

/** What a node with this value of `x` lacks for this test of it. */
const missing = (test: CapabilityTest, value: CapabilityValue | undefined): string | undefined =>
  lacks(
    placed({ capabilities: { x: test } }),
    'echo',
    node({ capabilities: value === undefined ? {} : { x: value } }),
  )[0];

describe('a node', () => {
  test('without the executor cannot run the task', () => {
    expect(meets(ANYWHERE, 'echo', node())).toBe(true);
    expect(meets(ANYWHERE, 'gpuSum', node())).toBe(false);
    expect(lacks(ANYWHERE, 'gpuSum', node())).toEqual(["executor 'gpuSum'"]);
  });

  test('may list its executors as a set', () => {
    const set = node({ executors: new Set(['echo']) });
    expect([meets(ANYWHERE, 'echo', set), meets(ANYWHERE, 'sum', set)]).toEqual([true, false]);
  });

  test('needs all of executors and one of executorsAny', () => {
    const all = placed({ executors: ['a', 'b'] });
    expect(meets(all, 'echo', node({ executors: ['echo', 'a', 'b'] }))).toBe(true);
    expect(lacks(all, 'echo', node({ executors: ['echo', 'b'] }))).toEqual(["executor 'a'"]);
    const any = placed({ executorsAny: ['a', 'b'] });
    expect(meets(any, 'echo', node({ executors: ['echo', 'b'] }))).toBe(true);
    expect(lacks(any, 'echo', node())).toEqual(["one of the executors 'a', 'b'"]);
  });

  test('that is not on the allow list is out', () => {
    const placement = placed({ allowedNodes: [nodeId('w-2')] });
    expect(meets(placement, 'echo', node())).toBe(false);
    expect(lacks(placement, 'echo', node())).toEqual(['node is not in allowedNodes']);
  });

  test('that is allowed and forbidden is forbidden', () => {
    const list = [nodeId('w-1')];
    const placement = placed({ allowedNodes: list, forbiddenNodes: list });
    expect(meets(placement, 'echo', node())).toBe(false);
    expect(lacks(placement, 'echo', node())).toEqual(['node is forbidden']);
  });

  test('gets a list of everything that it lacks', () => {
    const placement = placed({
      executors: ['sql'],
      capabilities: { gpu: 'nvidia', cpu_cores: { '>=': 8 }, disk: true },
      forbiddenNodes: [nodeId('w-1')],
    });
    const capabilities = { gpu: 'amd', cpu_cores: 4, disk: true };
    expect(lacks(placement, 'gpuSum', node({ capabilities }))).toEqual([
      'node is forbidden',
      "executor 'gpuSum'",
      "executor 'sql'",
      "capability gpu is 'amd', needs 'nvidia'",
      'capability cpu_cores is 4, needs >= 8',
    ]);
  });
});

describe('a capability test', () => {
  test.each<[CapabilityTest, CapabilityValue | undefined, string | undefined]>([
    [8, 8, undefined],
    [8, 16, undefined],
    [8, 4, 'is 4, needs >= 8'],
    [8, '16', "is '16', needs >= 8"],
    [8, undefined, 'is missing, needs >= 8'],
    ['nvidia', 'nvidia', undefined],
    ['nvidia', ['nvidia'], "is ['nvidia'], needs 'nvidia'"],
    [true, true, undefined],
    [true, 1, 'is 1, needs true'],
    [['a', 'b'], ['b', 'c', 'a'], undefined],
    [['a', 'b'], ['a'], "is ['a'], needs all of ['a', 'b']"],
    [['a'], 'a', undefined],
    [{ '=': 8 }, 8, undefined],
    [{ '=': 8 }, 16, 'is 16, needs 8'],
    [{ '=': ['a', 'b'] }, ['b', 'a'], undefined],
    [{ '=': ['a'] }, ['b', 'a'], "is ['b', 'a'], needs ['a']"],
    [{ '!=': 'amd' }, 'nvidia', undefined],
    [{ '!=': 'amd' }, undefined, undefined],
    [{ '!=': 'amd' }, 'amd', "is 'amd', needs anything but 'amd'"],
    [{ '>': 8 }, 8, 'is 8, needs > 8'],
    [{ '<': 8 }, 7, undefined],
    [{ '<=': 8 }, 9, 'is 9, needs <= 8'],
    [{ '>=': 2, '<': 4 }, 3, undefined],
    [{ '>=': 2, '<': 4 }, 4, 'is 4, needs < 4'],
    [{ in: ['a', 'b'] }, 'b', undefined],
    [{ in: ['a', 'b'] }, ['c', 'b'], undefined],
    [{ in: ['a', 'b'] }, 'c', "is 'c', needs one of ['a', 'b']"],
    [{ has: 'a' }, ['a', 'b'], undefined],
    [{ has: 'a' }, ['b'], "is ['b'], needs 'a' among its values"],
    [{ has: ['a', 'b'] }, ['a'], "is ['a'], needs all of ['a', 'b']"],
  ])('%j against %j says %j', (test, value, expected) => {
    expect(missing(test, value)).toBe(
      expected === undefined ? undefined : `capability x ${expected}`,
    );
  });

  test('does not find what every object inherits', () => {
    const placement = placed({ capabilities: { constructor: { '!=': 1 }, toString: 'x' } });
    expect(lacks(placement, 'echo', node())).toEqual(["capability toString is missing, needs 'x'"]);
  });

  test('shows a long list short', () => {
    const many = Array.from({ length: 500 }, (_, at) => at);
    expect(missing({ has: 'x' }, many)).toBe(
      "capability x is [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 490 more], needs 'x' among its values",
    );
  });
});

test('a node may run a task exactly when it lacks nothing', () => {
  const word = fc.constantFrom('a', 'b', 'c');
  const words = fc.uniqueArray(word, { maxLength: 2 });
  const value = fc.oneof(word, fc.integer({ min: 0, max: 3 }), fc.boolean(), words);
  const tests = fc.oneof(value, fc.dictionary(fc.constantFrom(...OPERATORS), value));
  const placement = fc.record({
    executors: words,
    executorsAny: words,
    capabilities: fc.dictionary(word, tests),
    allowedNodes: fc.option(words, { nil: null }),
    forbiddenNodes: words,
    maxParallelPerNode: fc.constant(null),
  });
  const candidate = fc.record({
    id: word,
    executors: words,
    capabilities: fc.dictionary(word, value),
  });
  fc.assert(
    fc.property(placement, word, candidate, (wanted, executor, offered) => {
      const where = wanted as unknown as Placement;
      const who = { ...offered, id: nodeId(offered.id) };
      expect(meets(where, executor, who)).toBe(lacks(where, executor, who).length === 0);
    }),
    { numRuns: 1_000 },
  );
});

test('what a task asks for is the same list for every node, with what each has', () => {
  const placement = placed({
    executors: ['sql'],
    executorsAny: ['a', 'b'],
    allowedNodes: [nodeId('w-1')],
    capabilities: { gpu: 'nvidia', cpu: { '>=': 8, '<': 64 }, zones: ['a'], ram: 4 },
  });
  const capabilities = { gpu: 'amd', cpu: 16, zones: ['a', 'b'] };
  const here = needs(placement, 'sum', node({ executors: ['sql', 'b'], capabilities }));
  expect(here).toEqual([
    { need: "executor 'sum'", seen: 'missing', isMet: false },
    { need: "executor 'sql'", seen: 'offered', isMet: true },
    { need: "one of the executors 'a', 'b'", seen: "'b'", isMet: true },
    { need: 'node is allowed', seen: 'allowed', isMet: true },
    { need: "gpu = 'nvidia'", seen: "'amd'", isMet: false },
    { need: 'cpu >= 8 and < 64', seen: '16', isMet: true },
    { need: "zones has ['a']", seen: "['a', 'b']", isMet: true },
    { need: 'ram >= 4', seen: 'missing', isMet: false },
  ]);
  const elsewhere = needs(placement, 'sum', node({ id: nodeId('w-2') }));
  expect(elsewhere.map(({ need }) => need)).toEqual(here.map(({ need }) => need));
  expect(elsewhere.some(({ isMet }) => isMet)).toBe(false);
});
