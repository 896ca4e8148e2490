import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

const job = (name: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  name,
  batch: { key: 'k', max: 3, ms: 1_000, ...more },
  tasks: [echo('a', { input: [name] })],
});
/** The jobs whose items an assignment gets besides its own. */
const others = (
  world: Harness,
  { members }: { readonly members?: readonly { jobNo: number }[] | null },
) => members?.map(({ jobNo }) => [...world.state.jobs.values()].find(({ no }) => no === jobNo)?.id);

describe('jobs of a batch', () => {
  test('are executed once, when the first of them has waited for its time, and all get the result', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    world.advance(900);
    world.submit(job('two'));
    world.advance(99);
    expect(node.poll(5)).toEqual([]);
    world.advance(1);
    const [head, ...rest] = node.poll(5);
    expect(rest).toEqual([]);
    expect(head?.jobId).toBe('one');
    expect(others(world, head!)).toEqual(['two']);
    node.complete(head!, 'sent');
    for (const name of ['one', 'two']) expect(world.job(name).state).toBe('succeeded');
    expect(world.task('two', 'a').result).toBe('sent');
  });

  test('start at once when there are enough of them, and the next one begins another batch', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const name of ['one', 'two', 'three', 'four']) world.submit(job(name));
    const [head, ...rest] = node.poll(5);
    expect(rest).toEqual([]);
    expect(others(world, head!)).toEqual(['two', 'three']);
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['four']);
  });

  test('do not join a full one after a new leader has loaded it', () => {
    const world = new Harness();
    for (const name of ['one', 'two', 'three']) world.submit(job(name));
    world.restart();
    world.submit(job('four'));
    expect(world.states('four')).toEqual({ a: 'delayed' });
    const node = world.node('w1');
    expect(node.poll(5).map((each) => others(world, each))).toEqual([['two', 'three']]);
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['four']);
  });

  test('do not join one that has started, nor one of another key or executor', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sleep'] });
    world.submit(job('one'));
    world.submit({ ...job('key'), batch: { key: 'another', max: 3, ms: 1_000 } });
    world.submit({ ...job('code'), tasks: [{ id: 'a', executor: 'sleep', input: [] }] });
    world.advance(1_000);
    const started = node.poll(5);
    expect(started.map((each) => others(world, each))).toEqual([[], [], []]);
    world.submit(job('late'));
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['late']);
  });

  test('of two executors with one key are two batches, however they alternate', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sleep'] });
    const other = (name: string) => {
      return { ...job(name), tasks: [{ id: 'a', executor: 'sleep', input: [name] }] };
    };
    for (const name of ['1', '2']) {
      world.submit(job(`echo${name}`));
      world.submit(other(`sleep${name}`));
    }
    world.restart();
    world.submit(job('echo3'));
    world.submit(other('sleep3'));
    node.restartProcess();
    const heads = node.poll(9);
    const batches = heads.map((head) => [head.jobId, others(world, head)] as const);
    expect(Object.fromEntries(batches)).toEqual({
      echo1: ['echo2', 'echo3'],
      sleep1: ['sleep2', 'sleep3'],
    });
  });

  test('fail together, after the attempts of the first one', () => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { maxAttempts: 2, backoffMs: 0 };
    for (const name of ['one', 'two'])
      world.submit({ ...job(name), tasks: [echo('a', { input: [], retry })] });
    world.advance(1_000);
    for (const attempt of [1, 2]) {
      const [head] = node.poll(5);
      expect(head).toMatchObject({ jobId: 'one', attempt });
      expect(others(world, head!)).toEqual(['two']);
      node.fail(head!, { code: 'flaky', message: 'no' });
      world.advance(1_000);
    }
    expect(node.poll(5)).toEqual([]);
    for (const name of ['one', 'two']) {
      expect(world.job(name).state).toBe('failed');
      expect(world.task(name, 'a').error).toMatchObject({ code: 'dead' });
    }
  });

  test('skip a cancelled one: the next of them executes the rest', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const name of ['one', 'two']) world.submit(job(name));
    world.cancel('one');
    const [head] = node.poll(5);
    expect(head?.jobId).toBe('two');
    expect(others(world, head!)).toEqual([]);
    world.submit(job('three'));
    expect(world.job('three').state).toBe('queued');
    node.complete(head!);
    expect(world.job('two').state).toBe('succeeded');
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['three']);
  });

  test('stay together when another leader takes over, and more may join', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    world.submit(job('two'));
    world.restart();
    world.submit(job('three'));
    const [head] = node.poll(5);
    expect(others(world, head!)).toEqual(['two', 'three']);
    world.restart();
    node.complete(head!, 7);
    for (const name of ['one', 'two', 'three']) expect(world.job(name).state).toBe('succeeded');
  });
});

test('a job that failed with its batch runs again by itself, also beside the others', () => {
  const world = new Harness();
  const node = world.node('w1');
  for (const name of ['one', 'two']) world.submit(job(name, { max: 2 }));
  node.fail(node.poll(5)[0]!, { failure: 'fatal' });
  for (const name of ['one', 'two']) world.rerun(name);
  const again = node.poll(5);
  expect(again.map(({ jobId }) => jobId).toSorted()).toEqual(['one', 'two']);
  expect(again.map((each) => others(world, each))).toEqual([[], []]);
  for (const each of again) node.complete(each);
  for (const name of ['one', 'two']) expect(world.job(name).state).toBe('succeeded');
});

test.each([
  ['another time', { runAt: '2030-01-01T00:00:00Z' }, '/runAt'],
  ['debounce', { debounce: { key: 'k', ms: 5 } }, '/debounce'],
  ['two tasks', { tasks: [echo('a', { input: [] }), echo('b', { input: [] })] }, '/tasks'],
  ['an input that is not a list', { tasks: [echo('a', { input: { a: 1 } })] }, '/tasks/0/input'],
  [
    'a key of its own',
    { tasks: [echo('a', { input: [], idempotencyKey: 'x' })] },
    '/tasks/0/idempotencyKey',
  ],
  ['no size', { batch: { key: 'k', ms: 5 } }, '/batch/max'],
])('a batched job with %s is refused', (_, more, path) => {
  const world = new Harness();
  expect(() => world.submit({ ...job('one'), ...more })).toThrow(
    expect.objectContaining({ code: 'bad_input', path }) as Error,
  );
});
