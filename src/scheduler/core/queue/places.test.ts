import { expect, test } from 'vitest';
import { Harness, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { TaskNo } from '../ids.ts';

const node = (world: Harness, id: string, slots = 1): ScriptedNode =>
  world.node(id, { executors: ['echo', 'sql.fragment'], slots });

/** The nodes that the fragments of the only query prefer, by number. */
function preferred(world: Harness, count: number): readonly (string | null)[] {
  const [job] = world.state.jobs.values();
  const { places } = world.state.matching;
  return Array.from(
    { length: count },
    (_, no) => (job && places.preferredBy(job.no, no as TaskNo)?.id) ?? null,
  );
}

function submitQuery(world: Harness, count: number): void {
  world.submit({ name: 'query', tasks: echoes(count) }, { isQuery: true });
}

const numbers = (given: readonly { readonly lease: { readonly taskNo: number } }[]) =>
  given.map(({ lease }) => lease.taskNo);

test('the tasks of a stage prefer all nodes in turn, as often as they have places', () => {
  const world = new Harness();
  submitQuery(world, 8);
  expect(preferred(world, 2)).toEqual([null, null]);
  for (const [id, slots] of [['a', 1] as const, ['b', 3] as const]) node(world, id, slots);
  // One slot of a node with several is left to others.
  const turns = preferred(world, 6);
  expect(turns.slice(0, 3).filter((id) => id === 'b')).toHaveLength(2);
  expect(turns.slice(0, 3)).toContain('a');
  expect(turns.slice(3)).toEqual(turns.slice(0, 3));
});

test('a node that is free takes the task that prefers it before older ones', () => {
  const world = new Harness();
  const [a, b] = [node(world, 'a'), node(world, 'b')];
  submitQuery(world, 4);
  const ofB = preferred(world, 4).flatMap((id, no) => (id === 'b' ? [no] : []));
  const ofA = preferred(world, 4).flatMap((id, no) => (id === 'a' ? [no] : []));
  expect([ofA.length, ofB.length]).toEqual([2, 2]);
  expect(numbers(b.poll())).toEqual(ofB.slice(0, 1));
  expect(numbers(a.poll())).toEqual(ofA.slice(0, 1));
});

test('no slot stays free for a preference', () => {
  const world = new Harness();
  const [a, b] = [node(world, 'a'), node(world, 'b')];
  submitQuery(world, 4);
  const taken: number[] = [];
  for (let at = 0; at < 4; at += 1) {
    const [next] = a.poll();
    taken.push(...numbers(next === undefined ? [] : [next]));
    a.complete(next ?? expect.fail('there is work'));
  }
  expect(new Set(taken)).toEqual(new Set([0, 1, 2, 3]));
  expect(b.poll()).toEqual([]);
});

test('a node that drains, or has gone, is preferred by nothing', () => {
  const world = new Harness();
  const [a, b] = [node(world, 'a'), node(world, 'b')];
  submitQuery(world, 2);
  world.drain(a.id);
  expect(preferred(world, 2)).toEqual(['b', 'b']);
  b.leave();
  expect(preferred(world, 2)).toEqual([null, null]);
});

test('tasks that are not fragments are taken in the order in which they came', () => {
  const world = new Harness();
  const [a, b] = [node(world, 'a'), node(world, 'b')];
  world.submit({ name: 'plain', tasks: echoes(4) });
  expect([...numbers(b.poll()), ...numbers(a.poll())]).toEqual([0, 1]);
});
