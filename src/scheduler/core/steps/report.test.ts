import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment, JobId, TermId } from '../index.ts';

/** A world in which `node` runs task `a` of `job`; `b` keeps the job in memory afterwards. */
function running(): { world: Harness; node: ScriptedNode; a: Assignment } {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
  const [a] = node.poll(1);
  return { world, node, a: a! };
}

const named = (a: Assignment, changed: Partial<Assignment['lease']>): Assignment => ({
  ...a,
  lease: { ...a.lease, ...changed },
});

describe('a report is believed', () => {
  test('once: the completion of a running attempt is accepted with its result', () => {
    const { world, node, a } = running();
    expect(node.start(a)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({ state: 'running', startedAt: world.now });
    expect(node.complete(a, { rows: 3 })).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({
      state: 'succeeded',
      result: { rows: 3 },
      progress: 1,
      nodeId: 'w1',
      sessionId: null,
    });
  });

  test('again, when it was accepted before and only the answer was lost', () => {
    const { world, node, a } = running();
    expect(node.complete(a, 1)).toBe('ok');
    const { lastSeq } = world.rows;
    expect(node.complete(a, 1)).toBe('ok');
    expect(world.rows.lastSeq).toBe(lastSeq);
    world.restart();
    expect(node.complete(a, 1)).toBe('ok');
  });

  test('again, for a failure, a release and a suspension', () => {
    for (const say of ['fail', 'release', 'sleep'] as const) {
      const { node, a } = running();
      const report = (): string => (say === 'sleep' ? node.sleep(a, 1_000) : node[say](a));
      expect(report()).toBe('ok');
      expect(report()).toBe('ok');
    }
  });

  test('although the attempt was never reported as started', () => {
    const { world, node, a } = running();
    node.complete(a);
    expect(world.task('job', 'a').startedAt).toBe(world.now);
    expect(world.history('job', 'a')).toContain('started');
  });
});

describe('a report is lost', () => {
  test('when its fence is old', () => {
    const { world, node, a } = running();
    node.release(a);
    const [second] = node.poll(1);
    node.release(second!);
    const later = node.poll(2).find(({ taskId }) => taskId === 'a');
    expect(later?.lease.fence).toBeGreaterThan(1);
    expect(node.complete(a, 'old')).toBe('lost');
    expect(world.task('job', 'a')).toMatchObject({ state: 'running', result: null });
    expect(node.complete(later!, 'new')).toBe('ok');
    expect(world.task('job', 'a').result).toBe('new');
  });

  test('when its term is another one', () => {
    const { world, node, a } = running();
    expect(node.complete(named(a, { term: 'term-0' as TermId }))).toBe('lost');
    expect(world.task('job', 'a').state).toBe('running');
  });

  test('when its job is another one of the same number', () => {
    const { world, node, a } = running();
    const other = named(a, { jobId: 'lost' as JobId });
    expect(node.complete(other)).toBe('lost');
    expect(world.task('job', 'a')).toMatchObject({ state: 'running' });
    // Also once there is no lease that could be taken for it.
    expect(node.complete(a)).toBe('ok');
    expect(node.complete(other)).toBe('lost');
  });

  test('when the lease is another node’s', () => {
    const { world, a } = running();
    expect(world.node('w2').complete(a)).toBe('lost');
    expect(world.task('job', 'a').state).toBe('running');
  });

  test('when the task was lost with an earlier session of the node', () => {
    const { world, node, a } = running();
    node.restartProcess();
    expect(node.complete(a)).toBe('lost');
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 1 });
  });

  test('when a completion comes after a failure of the same attempt was accepted', () => {
    const { world, node, a } = running();
    node.fail(a);
    expect(node.complete(a)).toBe('lost');
    expect(world.task('job', 'a').state).toBe('delayed');
  });

  test('when it says that work goes on under a lease that has ended, however it ended', () => {
    const { node, a } = running();
    node.complete(a);
    expect(node.start(a)).toBe('lost');
    expect(node.progress(a, 0.5)).toBe('lost');
    expect(node.step(a, 'late', 1)).toBe('lost');
    expect(node.complete(a)).toBe('ok');
  });

  test('when the task does not exist', () => {
    const { node, a } = running();
    expect(node.complete(named(a, { taskNo: 17 as Assignment['lease']['taskNo'] }))).toBe('lost');
  });
});

test('a report about a job that is not in memory is for the store to judge', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  const [a] = node.poll();
  node.complete(a!);
  expect(node.complete(a!)).toBe('unknown');
});

test('a lease given under an earlier leader stays good under the next one', () => {
  const { world, node, a } = running();
  world.restart();
  expect(node.start(a)).toBe('ok');
  expect(node.complete(a, 5)).toBe('ok');
  expect(world.task('job', 'a').result).toBe(5);
});

test('one report may carry many items, each with a verdict of its own', () => {
  const { node, a } = running();
  const [b] = node.poll(1);
  const verdicts = node.report([
    { kind: 'started', lease: b!.lease },
    { kind: 'completed', lease: a.lease, result: '1' },
    { kind: 'completed', lease: { ...b!.lease, fence: 9 }, result: '1' },
  ]);
  expect(verdicts).toEqual(['ok', 'ok', 'lost']);
});

test('progress is kept between 0 and 1 and logged with its note', () => {
  const { world, node, a } = running();
  node.progress(a, 0.25, 'reading');
  expect(world.task('job', 'a').progress).toBe(0.25);
  expect(world.log().at(-1)).toMatchObject({
    kind: 'progress',
    detail: '{"fraction":0.25,"note":"reading"}',
  });
  node.progress(a, 7);
  expect(world.task('job', 'a').progress).toBe(1);
});

test('a step is kept under the run of the task, and the first one stays', () => {
  const { world, node, a } = running();
  expect(node.step(a, 'fetch', 1)).toBe('ok');
  node.fail(a);
  world.advance(10_000);
  const again = node.poll(2).find(({ taskId }) => taskId === 'a');
  expect(node.step(again!, 'fetch', 2)).toBe('ok');
  expect(node.step(a, 'other', 3)).toBe('lost');
  const { steps } = world.rows.jobs.get(a.lease.jobNo)!.tasks[0]!;
  expect([...steps]).toEqual([['1/fetch', '1']]);
});

test('a session that the leader does not know is asked to start over', () => {
  const { world, node, a } = running();
  const item = { kind: 'completed', lease: a.lease, result: null } as const;
  const nobody = { nodeId: node.id, sessionId: 'w1-99' as typeof node.sessionId };
  expect(world.ask({ type: 'report', ...nobody, items: [item] })).toMatchObject({
    type: 'refused',
    error: { code: 'unknown_session' },
  });
});
