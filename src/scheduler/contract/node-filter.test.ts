import { expect, test } from 'vitest';
import type { NodeId } from '../core/index.ts';
import { nodesThat } from './node-filter.ts';
import type { NodeFilter } from './node-filter.ts';
import type { NodeShape } from './shapes.ts';

function node(id: string, executors: readonly string[], capabilities: object): NodeShape {
  return {
    ...{ id: id as NodeId, status: 'healthy', draining: false, slots: 1, running: 0 },
    ...{ executors, capabilities: capabilities as NodeShape['capabilities'], address: null },
    ...{ version: '', quarantinedUntil: null, registeredAt: '', seenAt: '', figures: null },
  };
}

const NODES = [
  node('a', ['echo', 'operator:tokenize'], { gpu: 'nvidia', cpu_cores: 8, spot: true }),
  node('b', ['echo', 'tokenize'], { gpu: ['nvidia', 'amd'], cpu_cores: 4 }),
  node('c', [], { 'a:b': 'x', constructor: 'own' }),
];

test.each<[NodeFilter, string]>([
  [{}, 'abc'],
  [{ executor: 'echo' }, 'ab'],
  [{ executor: 'tokenize' }, 'b'],
  [{ operator: 'tokenize' }, 'a'],
  [{ capability: 'gpu:nvidia' }, 'a'],
  [{ capability: 'cpu_cores:4' }, 'ab'],
  [{ capability: 'cpu_cores:5' }, 'a'],
  [{ capability: 'spot:true' }, 'a'],
  [{ capability: 'toString:x' }, ''],
  [{ capability: 'constructor:own' }, 'c'],
  [{ executor: 'echo', capability: 'cpu_cores:8' }, 'a'],
])('%j finds %s', (filter, ids) => {
  expect(
    nodesThat(NODES, filter)
      .map(({ id }) => id)
      .join(''),
  ).toBe(ids);
});

test.each(['gpu', ':x', ''])('%j is not a capability to look for', (capability) => {
  expect(() => nodesThat(NODES, { capability })).toThrow('Write key:value');
});
