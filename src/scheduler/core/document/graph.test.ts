import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCycle, shownCycle } from './graph.ts';

const graph = (countMax: number): fc.Arbitrary<number[][]> =>
  fc.integer({ min: 0, max: countMax }).chain((count) =>
    fc.array(fc.uniqueArray(fc.nat(Math.max(0, count - 1)), { maxLength: 3 }), {
      minLength: count,
      maxLength: count,
    }),
  );

describe('a cycle', () => {
  test('is not found where every edge points back', () => {
    const backwards = graph(30).map((edges) =>
      edges.map((to, from) => to.filter((each) => each < from)),
    );
    fc.assert(
      fc.property(backwards, (edges) => {
        expect(findCycle(edges)).toBeNull();
      }),
    );
  });

  test('that is reported is a real one: each node points to the next, the last to the first', () => {
    fc.assert(
      fc.property(graph(12), (edges) => {
        const cycle = findCycle(edges);
        if (cycle === null) return;
        expect(new Set(cycle).size).toBe(cycle.length);
        cycle.forEach((from, at) => {
          expect(edges[from]).toContain(cycle[(at + 1) % cycle.length]);
        });
      }),
    );
  });

  test('is found exactly when some node can reach itself', () => {
    fc.assert(
      fc.property(graph(10), (edges) => {
        const reachesItself = edges.some((_, start) => reachable(edges, start).has(start));
        expect(findCycle(edges) !== null).toBe(reachesItself);
      }),
    );
  });

  test('of 100,000 places is found without recursion', () => {
    const count = 100_000;
    const ring = Array.from({ length: count }, (_, at) => [(at + 1) % count]);
    expect(findCycle(ring)).toHaveLength(count);
  });

  test('is found behind a long chain that leads into it', () => {
    const count = 100_000;
    const tail = Array.from({ length: count }, (_, at) => [Math.min(at + 1, count - 1)]);
    expect(findCycle(tail)).toEqual([count - 1]);
  });
});

test('a short cycle is shown whole, a long one without its middle', () => {
  expect(shownCycle(['a', 'b'])).toBe('a -> b -> a');
  const long = Array.from({ length: 100 }, (_, at) => `t${at}`);
  expect(shownCycle(long)).toBe('t0 -> t1 -> t2 -> t3 -> ... 95 more ... -> t99 -> t0');
});

function reachable(edges: readonly (readonly number[])[], start: number): Set<number> {
  const found = new Set<number>();
  const open = [...(edges[start] ?? [])];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (found.has(place)) continue;
    found.add(place);
    open.push(...(edges[place] ?? []));
  }
  return found;
}
