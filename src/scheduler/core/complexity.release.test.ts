/**
 * What scheduling costs as queues and clusters grow. Work is counted where it can be, because
 * counts do not depend on the machine; times are compared with each other, with much room.
 */
import { afterEach, expect, test, vi } from 'vitest';
import { Harness, echo, echoes } from '../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../test/rig/harness/scripted-node.ts';
import { Heap } from './memory/heap.ts';
import { JobQueue } from './queue/job-queue.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** How often the queue's inner parts were moved while `act` ran. */
function movesOf(act: () => void): number {
  const spies = [
    vi.spyOn(Heap.prototype, 'push'),
    vi.spyOn(Heap.prototype, 'pop'),
    vi.spyOn(JobQueue.prototype, 'append'),
    vi.spyOn(JobQueue.prototype, 'prepend'),
    vi.spyOn(JobQueue.prototype, 'remove'),
  ];
  act();
  const moves = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return moves;
}

/** The quickest of some tries, in ms: the others met a garbage collection or a neighbour. */
function quickest(act: () => void): number {
  const times = Array.from({ length: 7 }, () => {
    const start = performance.now();
    act();
    return performance.now() - start;
  });
  return Math.min(...times);
}

interface Size {
  readonly tasks: number;
  readonly jobs: number;
  readonly nodes: number;
}

/** A cluster with so many equal nodes and so many ready tasks, spread over the jobs. */
function cluster({ tasks, jobs, nodes }: Size): { world: Harness; workers: ScriptedNode[] } {
  const world = new Harness({ checks: false });
  const workers = Array.from({ length: nodes }, (_, at) => world.node(`w${at}`));
  for (let at = 0; at < jobs; at += 1) {
    world.submit({ name: `job-${at}`, tasks: echoes(Math.ceil(tasks / jobs)) });
  }
  return { world, workers };
}

/** A worker takes a task and finishes it, a hundred times. */
function serve(workers: readonly ScriptedNode[]): void {
  for (let at = 0; at < 100; at += 1) {
    const worker = workers[at % workers.length] as ScriptedNode;
    for (const task of worker.poll(1)) worker.complete(task);
  }
}

const SIZES: readonly Size[] = [
  { tasks: 1_000, jobs: 10, nodes: 10 },
  { tasks: 100_000, jobs: 10, nodes: 10 },
  { tasks: 100_000, jobs: 10_000, nodes: 10 },
  { tasks: 100_000, jobs: 10, nodes: 1_000 },
];

test('the cost of an assignment does not grow with the queue or the cluster', () => {
  const times = SIZES.map((size) => {
    const { workers } = cluster(size);
    serve(workers);
    // One task comes out of its line, and its job's line goes back by one turn.
    expect(movesOf(() => serve(workers))).toBeLessThanOrEqual(5 * 100);
    return quickest(() => serve(workers));
  });
  for (const time of times) expect(time).toBeLessThan(10 * (times[0] as number) + 5);
});

test('adding a task costs the same with a short queue and a long one', () => {
  const times = [100, 100_000].map((tasks) => {
    const { world } = cluster({ tasks, jobs: 10, nodes: 10 });
    let no = 0;
    return quickest(() => {
      for (let at = 0; at < 100; at += 1) {
        no += 1;
        world.submit({ name: `late-${no}`, tasks: [echo('a')] });
      }
    });
  });
  expect(times[1]).toBeLessThan(10 * (times[0] as number) + 5);
});

test('removing a task from the middle of the queue costs the same in a short and a long one', () => {
  const times = [1_000, 100_000].map((tasks) => {
    const { world } = cluster({ tasks, jobs: 10, nodes: 1 });
    for (let no = 0; no < 700; no += 1) world.submit({ name: `in-${no}`, tasks: [echo('a')] });
    let no = 0;
    return quickest(() => {
      for (let at = 0; at < 100; at += 1) {
        world.cancel(`in-${no}`);
        no += 1;
      }
    });
  });
  expect(times[1]).toBeLessThan(10 * (times[0] as number) + 5);
});

test('a poll without runnable tasks is O(1), with 100,000 tasks that no node can run', () => {
  const world = new Harness({ checks: false });
  const worker = world.node('w1');
  const placement = { capabilities: { gpu: true } };
  world.submit({ name: 'rare', tasks: echoes(100_000, { placement }) });
  expect(movesOf(() => expect(worker.poll(9)).toEqual([]))).toBe(0);
});

test('a poll is O(1) with 100,000 tasks behind a full concurrency key, or of a job at its limit', () => {
  const world = new Harness({ checks: false });
  const worker = world.node('w1');
  const concurrency = { key: 'db', limit: 1 };
  world.submit({ name: 'keyed', tasks: echoes(100_000, { concurrency }) });
  world.submit({ name: 'narrow', maxParallel: 1, tasks: echoes(100_000) });
  // The first look parks what cannot be had; from then on nobody walks over it.
  expect(worker.poll(9)).toHaveLength(2);
  expect(movesOf(() => expect(worker.poll(9)).toEqual([]))).toBe(0);
  const [first] = worker.held.values();
  const moves = movesOf(() => {
    worker.complete(first!);
    expect(worker.poll(9)).toHaveLength(1);
    expect(worker.poll(9)).toEqual([]);
  });
  expect(moves).toBeLessThan(20);
});

test('a thousand waiting nodes are not checked one by one', () => {
  const { world, workers } = cluster({ tasks: 0, jobs: 0, nodes: 1_000 });
  for (const worker of workers) worker.park(1);
  world.assign();
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(world.state.matching.active.size).toBe(1);
  expect(movesOf(() => world.assign())).toBeLessThanOrEqual(5);
  expect(workers.filter((worker) => !worker.isParked)).toHaveLength(1);
});

test('cancelled jobs leave nothing in the queue', () => {
  const world = new Harness({ checks: false });
  const placement = { capabilities: { gpu: true } };
  const { mock: pushes } = vi.spyOn(Heap.prototype, 'push');
  for (let at = 0; at < 5_000; at += 1) {
    world.submit({ name: `job-${at}`, tasks: [echo('a', { placement })] });
    world.cancel(`job-${at}`);
  }
  // Queues of cancelled jobs are swept before they are many, so a sweep never grows.
  expect(pushes.calls.length).toBeGreaterThanOrEqual(5_000);
  expect(pushes.calls.length).toBeLessThan(10_000);
  // Those that were swept are left as they were.
  const longest = Math.max(...pushes.contexts.map((heap) => (heap as Heap<unknown>).size));
  expect(longest).toBeLessThan(200);
});

test('of a long queue of plain jobs few are more than numbers, at any time', () => {
  const world = new Harness({ checks: false, unpackedJobs: 100 });
  const worker = world.node('w1', { slots: 10 });
  for (let at = 0; at < 50_000; at += 1) world.submit({ name: `job-${at}`, tasks: [echo('a')] });
  const sizes: number[] = [world.state.tasks.size];
  for (let round = 0; round < 1_000; round += 1) {
    for (const task of worker.poll(10)) worker.complete(task);
    sizes.push(world.state.tasks.size);
  }
  expect(world.state.jobs.size).toBe(40_000);
  expect(Math.max(...sizes)).toBeLessThan(200);
  expect(movesOf(() => serve([worker]))).toBeLessThanOrEqual(5 * 100);
});
