import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Node } from '../node/node.ts';
import { WaitingNodes, WaitingPlace } from './waiting-nodes.ts';

/** All that a line looks at. */
function nodes(count: number): readonly Node[] {
  return Array.from({ length: count }, () => ({ place: new WaitingPlace() }) as Node);
}

test('nodes wait in the order in which they came, as in a set', () => {
  const some = nodes(6);
  const act = fc.record({ no: fc.nat(5), isComing: fc.boolean() });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const [set, line] = [new Set<Node>(), new WaitingNodes()];
      for (const { no, isComing } of acts) {
        const node = some[no]!;
        if (isComing) line.add(node);
        else line.delete(node);
        if (isComing) set.add(node);
        else set.delete(node);
        expect([...line.values()]).toEqual([...set]);
        expect(line.has(node)).toBe(isComing);
        expect(line.isEmpty).toBe(set.size === 0);
        expect(line.first).toBe([...set][0] ?? null);
      }
      for (const node of set) line.delete(node);
    }),
  );
});

test('a node that waits in one line is not in another', () => {
  const [node] = nodes(1) as [Node];
  const [here, there] = [new WaitingNodes(), new WaitingNodes()];
  here.add(node);
  expect(there.has(node)).toBe(false);
  there.delete(node);
  expect(here.has(node)).toBe(true);
});
