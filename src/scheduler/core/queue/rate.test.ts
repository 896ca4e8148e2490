import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

const rate = (key: string, max: number, perMs: number): object => ({ key, max, perMs });
const limits = (...list: readonly object[]): object => ({ limits: list });

/** Finishes what it gets; answers how many there were. */
function serve(node: ScriptedNode): number {
  let count = 0;
  for (let got = node.poll(50); got.length > 0; got = node.poll(50)) {
    count += got.length;
    for (const task of got) node.complete(task);
  }
  return count;
}

describe('a rate limit', () => {
  test('starts no more than its share in any period, over all jobs, and goes on by itself', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const name of ['one', 'two']) {
      world.submit({ name, tasks: echoes(4, limits(rate('api', 3, 1_000))) });
    }
    const starts: number[] = [];
    for (let ms = 0; ms < 3_000; ms += 100) {
      for (let count = serve(node); count > 0; count -= 1) starts.push(ms);
      world.advance(100);
    }
    expect(starts).toHaveLength(8);
    for (const from of starts) {
      expect(starts.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(3);
    }
    expect(starts.at(-1)).toBe(2_000);
  });

  test('counts what an earlier leader has started', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: echoes(2, limits(rate('api', 2, 10_000))) });
    expect(serve(node)).toBe(2);
    world.restart();
    world.submit({ name: 'two', tasks: echoes(2, limits(rate('api', 2, 10_000))) });
    expect(serve(node)).toBe(0);
    world.advance(9_999);
    expect(serve(node)).toBe(0);
    world.advance(1);
    expect(serve(node)).toBe(2);
  });

  test('leaves nothing behind when its period is over', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: echoes(2, limits(rate('api', 5, 1_000))) });
    expect(serve(node)).toBe(2);
    expect(world.rows.limits.size).toBe(1);
    world.advance(1_000);
    expect(world.rows.limits.size).toBe(0);
    expect(world.state.queue.limit('rate/api')).toBeUndefined();
  });

  test('counts each attempt, and not that a task goes on after a wait', () => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { maxAttempts: 2, backoffMs: 10 };
    const options = { ...limits(rate('api', 2, 10_000)), retry };
    world.submit({ name: 'one', tasks: [echo('a', options)] });
    node.sleep(node.poll()[0]!, 100);
    world.advance(100);
    const [again] = node.poll();
    expect(again?.taskId).toBe('a');
    node.fail(again!, { code: 'flaky' });
    world.advance(1_000);
    const [second] = node.poll();
    expect(second?.taskId).toBe('a');
    node.sleep(second!, 100);
    world.advance(100);
    // Two of two are started; what goes on is not held up.
    expect(node.poll()).toHaveLength(1);
    world.submit({ name: 'two', tasks: [echo('b', options)] });
    expect(node.poll()).toHaveLength(0);
  });

  test('with a large share remembers little, and never starts too many', () => {
    const world = new Harness();
    const node = world.node('w1', { slots: 100 });
    world.submit({ name: 'one', tasks: echoes(150, limits(rate('api', 100, 6_400))) });
    let started = 0;
    for (let ms = 0; ms < 6_400; ms += 64) {
      for (const task of node.poll(2)) {
        started += 1;
        node.complete(task);
      }
      world.advance(64);
    }
    expect(started).toBe(100);
    expect([...world.rows.limits.values()][0]?.state.length).toBeLessThan(3_000);
  });

  test('takes the figures of the newest job', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: echoes(4, limits(rate('api', 1, 10_000))) });
    expect(serve(node)).toBe(1);
    world.submit({ name: 'two', tasks: echoes(1, limits(rate('api', 3, 10_000))) });
    expect(serve(node)).toBe(2);
  });
});

describe('several limits', () => {
  const both = (tenant: string): object =>
    limits({ key: 'api', max: 3 }, { key: `tenant ${tenant}`, max: 1 });

  test('must all have a place, and a full one does not keep tasks of others from running', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const tenant of ['a', 'b', 'c', 'd']) {
      world.submit({ name: tenant, tasks: echoes(5, both(tenant)) });
    }
    const first = node.poll(20);
    expect(first.map(({ jobId }) => jobId).toSorted()).toEqual(['a', 'b', 'c']);
    node.complete(first.find(({ jobId }) => jobId === 'a')!);
    expect(node.poll(20)).toHaveLength(1);
    let count = 4;
    while (node.held.size > 0) {
      for (const task of node.held.values()) node.complete(task);
      count += node.poll(20).length;
      const tenants = [...node.held.values()].map(({ jobId }) => jobId);
      expect(new Set(tenants).size).toBe(tenants.length);
      expect(tenants.length).toBeLessThanOrEqual(3);
    }
    expect(count).toBe(20);
  });

  test('a task that waits for one limit does not hold up those that share only the other', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'full', tasks: [echo('x', limits({ key: 'b', max: 1 }))] });
    expect(node.poll(5)).toHaveLength(1);
    const [a, b] = [
      { key: 'a', max: 1 },
      { key: 'b', max: 1 },
    ];
    world.submit({ name: 'one', tasks: [echo('y', limits(a))] });
    expect(node.poll(5)).toHaveLength(1);
    world.submit({ name: 'two', tasks: echoes(50, limits(a, b)) });
    world.submit({ name: 'three', tasks: echoes(2, limits(a)) });
    node.complete([...node.held.values()].find(({ taskId }) => taskId === 'y')!);
    const [next] = node.poll(5);
    expect(next?.jobId).toBe('three');
  });
});

describe('a fairness key', () => {
  test('gives a tenant with many jobs the same share as a tenant with one', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let no = 0; no < 40; no += 1) {
      world.submit({ name: `a${no}`, fairnessKey: 'a', tasks: echoes(3) });
    }
    world.submit({ name: 'b', fairnessKey: 'b', tasks: echoes(20) });
    world.submit({ name: 'c', tasks: echoes(20) });
    const count = { a: 0, b: 0, c: 0 };
    const served = new Set<string>();
    for (let at = 0; at < 60; at += 1) {
      const [task] = node.poll(1);
      count[task!.jobId[0] as 'a' | 'b' | 'c'] += 1;
      served.add(task!.jobId);
      node.complete(task!);
    }
    for (const each of Object.values(count)) {
      expect(each).toBeGreaterThanOrEqual(19);
      expect(each).toBeLessThanOrEqual(21);
    }
    // Among its own jobs the turns go round.
    expect([...served].filter((id) => id.startsWith('a')).length).toBeGreaterThanOrEqual(19);
  });

  test('does not let a newcomer wait for the backlog of others, or push them back', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let no = 0; no < 50; no += 1) {
      world.submit({ name: `a${no}`, fairnessKey: 'a', tasks: echoes(4) });
    }
    for (let at = 0; at < 30; at += 1) node.complete(node.poll(1)[0]!);
    world.submit({ name: 'late', fairnessKey: 'b', tasks: echoes(10) });
    const jobs = Array.from({ length: 10 }, () => {
      const [task] = node.poll(1);
      node.complete(task!);
      return task!.jobId;
    });
    const late = jobs.filter((id) => id === 'late').length;
    expect(late).toBeGreaterThanOrEqual(4);
    expect(late).toBeLessThanOrEqual(6);
  });

  test('survives that jobs are cancelled, parked at their limits, and a restart', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let no = 0; no < 80; no += 1) {
      world.submit({ name: `a${no}`, fairnessKey: 'a', maxParallel: 1, tasks: echoes(2) });
    }
    for (let no = 0; no < 70; no += 1) world.cancel(`a${no}`);
    expect(node.poll(50)).toHaveLength(10);
    expect(node.poll(50)).toHaveLength(0);
    world.restart();
    expect(serve(node)).toBe(0);
    for (const task of node.held.values()) node.complete(task);
    expect(serve(node)).toBe(10);
    expect(world.state.queue.shareCount).toBe(0);
  });
});
