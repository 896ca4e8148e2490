import { expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

/** Takes `count` tasks one by one, finishing each before the next; answers their job ids. */
function serve(node: ScriptedNode, count: number): string[] {
  const jobs: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const [task] = node.poll();
    if (task === undefined) break;
    jobs.push(task.jobId);
    node.complete(task);
  }
  return jobs;
}

const countOf = (jobs: readonly string[], job: string): number =>
  jobs.filter((each) => each === job).length;

test('priority 0 goes first, 3 last, whatever was submitted first', () => {
  const world = new Harness();
  const node = world.node('w1');
  for (const priority of [3, 1, 2, 0]) {
    world.submit({ name: `p${priority}`, priority, tasks: [echo('a')] });
  }
  expect(serve(node, 9)).toEqual(['p0', 'p1', 'p2', 'p3']);
});

test('priority counts among different kinds of work, too', () => {
  const world = new Harness();
  const node = world.node('w1', { executors: ['echo', 'sql'] });
  world.submit({ name: 'low', priority: 3, tasks: echoes(3) });
  world.submit({ name: 'urgent', priority: 0, tasks: [{ id: 'q', executor: 'sql' }] });
  expect(serve(node, 2)).toEqual(['urgent', 'low']);
});

test('tasks of one job and one kind are served first in, first out', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: echoes(20) });
  const order = node.poll(20).map(({ taskId }) => taskId);
  expect(order).toEqual(echoes(20).map((task) => task['id']));
});

test('a job with ten tasks is through by about the twentieth assignment of one with a thousand', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'large', tasks: echoes(1_000) });
  serve(node, 5);
  world.submit({ name: 'small', tasks: echoes(10) });
  const jobs = serve(node, 21);
  expect(countOf(jobs, 'small')).toBe(10);
  expect(countOf(jobs, 'large')).toBe(11);
});

test('three jobs take turns, also when one poll takes many tasks', () => {
  const world = new Harness();
  const node = world.node('w1');
  for (const name of ['a', 'b', 'c']) world.submit({ name, tasks: echoes(100) });
  const jobs = node.poll(30).map(({ jobId }) => jobId);
  expect(['a', 'b', 'c'].map((name) => countOf(jobs, name))).toEqual([10, 10, 10]);
});

test('a job whose tasks come one after the other gets its turn like the others', () => {
  const world = new Harness();
  const node = world.node('w1');
  const chain = echoes(50).map((task, at) =>
    at === 0 ? task : { ...task, dependsOn: [`t${at - 1}`] },
  );
  world.submit({ name: 'wide', tasks: echoes(200) });
  world.submit({ name: 'chain', tasks: chain });
  const jobs = serve(node, 40);
  expect(countOf(jobs, 'chain')).toBe(20);
  expect(countOf(jobs, 'wide')).toBe(20);
});

test('a stream of new jobs with one task each does not starve an old job', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'old', tasks: echoes(100) });
  for (let at = 0; at < 4; at += 1) world.submit({ name: `first-${at}`, tasks: [echo('a')] });
  const jobs: string[] = [];
  for (let at = 0; at < 100; at += 1) {
    world.submit({ name: `new-${at}`, tasks: [echo('a')] });
    jobs.push(...serve(node, 1));
  }
  expect(countOf(jobs, 'old')).toBeGreaterThan(7);
});

test('a job that only held a lease for long has no claim to what others got meanwhile', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'sleeper', tasks: [echo('parent'), echo('slow')] });
  const [parent] = node.poll(2);
  world.submit({ name: 'busy', tasks: echoes(300) });
  serve(node, 200);
  node.spawn(
    parent!,
    echoes(100).map((task) => ({ ...task, id: `c-${String(task['id'])}` })),
  );
  const jobs = serve(node, 40);
  expect(countOf(jobs, 'busy')).toBeGreaterThan(15);
});

test('a job that could not be served for long has no claim either', () => {
  const world = new Harness();
  const node = world.node('w1');
  const gpu = { placement: { capabilities: { gpu: true } } };
  world.submit({ name: 'waiting', tasks: echoes(100, gpu) });
  world.submit({ name: 'busy', tasks: echoes(300) });
  serve(node, 200);
  const able = world.node('w2', { capabilities: { gpu: true } });
  world.submit({ name: 'late', tasks: echoes(100, gpu) });
  node.leave();
  const jobs = serve(able, 60).filter((job) => job !== 'busy');
  expect(countOf(jobs, 'late')).toBeGreaterThan(10);
});

test('a job with a fairness key that reaches its own limit lets others have its place at a shared limit', () => {
  const world = new Harness();
  const node = world.node('w1');
  const key = { concurrency: { key: 'shared', limit: 1 } };
  world.submit({ name: 'first', tasks: [echo('a', key)] });
  const [first] = node.poll();
  world.submit({
    ...{ name: 'keyed', fairnessKey: 'tenant', maxParallel: 1 },
    tasks: [echo('a'), echo('b', key)],
  });
  world.submit({ name: 'last', tasks: [echo('a', key)] });
  node.complete(first!);
  expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['keyed', 'last']);
});
