import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { make, take } from '../../../../test/rig/harness/output-world.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment, Settings, TaskOptions } from '../index.ts';

const MIN_MS = 1_000;

interface Race {
  readonly world: Harness;
  readonly one: ScriptedNode;
  readonly two: ScriptedNode;
  readonly three: ScriptedNode;
  /** The attempt on the first node. */
  readonly first: Assignment;
}

interface Changes {
  readonly settings?: Partial<Settings>;
  readonly own?: TaskOptions['output'] | Pick<TaskOptions, 'output' | 'stragglerFactor'>;
}

/** Three tasks of a stage and a reader of all. One of the three has run for longer than it may, the others are done. */
function straggler({ settings = {}, own = 'deterministic' }: Changes = {}): Race {
  const world = new Harness({ settings: { stragglerMinMs: MIN_MS, ...settings } });
  const [one, two, three] = [world.node('w1'), world.node('w2'), world.node('w3')] as const;
  const ids = ['s0.0', 's0.1', 's0.2'];
  const options = typeof own === 'string' ? { output: own } : own;
  const tasks = [...ids.map((id) => echo(id)), echo('s1.0', { dependsOn: ids })];
  world.submit(
    { name: 'job', tasks },
    { own: Object.fromEntries([...ids, 's1.0'].map((id) => [id, options ?? {}])) },
  );
  const first = take(one);
  for (const node of [two, three]) make(node);
  world.advance(MIN_MS);
  return { world, one, two, three, first };
}

/** The same, with the second attempt on its way. */
function duplicated(changes: Changes = {}): Race & { readonly second: Assignment } {
  const race = straggler(changes);
  return { ...race, second: take(race.two) };
}

const counts = { attempt: 1, failures: 0, losses: 0, run: 1 };

describe('a task that runs much longer than its siblings', () => {
  test('is started a second time on another node, once, and its row stays as it was', () => {
    const { world, one, two, three, first, second } = duplicated();
    expect(second).toMatchObject({ taskId: 's0.0', attempt: 1, run: 1 });
    expect(second.lease.fence).toBe(first.lease.fence + 1);
    expect(world.task('job', 's0.0')).toMatchObject({ state: 'running', nodeId: 'w1', fence: 1 });
    expect(world.explain('job', 's0.0')?.why).toBe(
      'runs on node w1 and, as it takes so long, on w2',
    );
    world.advance(5 * MIN_MS);
    expect([one, two, three].flatMap((node) => node.poll())).toEqual([]);
  });

  test('gets no second attempt on its own node, and none before its time', () => {
    const world = new Harness({ settings: { stragglerFactor: 2, stragglerMinMs: 10 } });
    const [one, two] = [world.node('w1'), world.node('w2')];
    const own = { output: 'deterministic' } as const;
    const tasks = ['s0.0', 's0.1'].map((id) => echo(id));
    world.submit({ name: 'job', tasks }, { own: { 's0.0': own, 's0.1': own } });
    take(one);
    const other = take(two);
    world.advance(500);
    two.complete(other);
    world.advance(499);
    expect(two.poll()).toEqual([]);
    world.advance(1);
    expect(one.poll()).toEqual([]);
    expect(take(two).taskId).toBe('s0.0');
  });

  test.each<[string, Changes]>([
    ['it may come out differently', { own: 'non-deterministic' }],
    ['the setting is 0', { settings: { stragglerFactor: 0 } }],
    ['its query says 0', { own: { output: 'deterministic', stragglerFactor: 0 } }],
    ['it has not run for long enough', { settings: { stragglerMinMs: 2 * MIN_MS } }],
  ])('gets none if %s', (_why, changes) => {
    expect(straggler(changes).two.poll()).toEqual([]);
  });

  test('gets none if its query has had as many as it may', () => {
    const world = new Harness({ settings: { stragglerMinMs: MIN_MS, stragglersPerQuery: 1 } });
    const [one, two] = [world.node('w1'), world.node('w2')];
    const own = { output: 'deterministic' } as const;
    const ids = ['s0.0', 's0.1', 's0.2', 's0.3'];
    world.submit(
      { name: 'job', tasks: ids.map((id) => echo(id)) },
      { own: Object.fromEntries(ids.map((id) => [id, own])) },
    );
    one.poll(2);
    for (const task of two.poll(2)) two.complete(task);
    world.advance(MIN_MS);
    expect(two.poll(2).map(({ taskId }) => taskId)).toEqual(['s0.0']);
  });
});

describe('the first success is accepted, and no other', () => {
  test('that of the second attempt: the first is asked to stop, and its report is lost', () => {
    const { world, one, two, first, second } = duplicated();
    one.park(0);
    expect(two.complete(second, 'fast')).toBe('ok');
    world.assign();
    one.take();
    expect(one.orders.abort).toEqual([first.lease]);
    expect(one.complete(first, 'slow')).toBe('lost');
    expect(world.task('job', 's0.0')).toMatchObject({
      ...{ ...counts, state: 'succeeded', nodeId: 'w2', fence: 2, result: 'fast' },
    });
    const kinds = ['assigned', 'duplicated', 'discarded', 'started', 'completed'];
    expect(world.history('job', 's0.0').slice(-5)).toEqual(kinds);
    expect(make(one).taskId).toBe('s1.0');
    expect(world.job('job').state).toBe('succeeded');
  });

  test('that of the first attempt: the second hears of it with its next message', () => {
    const { world, one, two, first, second } = duplicated();
    expect(one.complete(first, 'slow')).toBe('ok');
    expect(two.beat().abort).toEqual([second.lease]);
    expect(two.complete(second, 'late')).toBe('lost');
    expect(one.complete(first, 'slow')).toBe('ok');
    expect(world.task('job', 's0.0')).toMatchObject({ ...counts, nodeId: 'w1', fence: 1 });
    expect(world.task('job', 's0.0').result).toBe('slow');
  });

  test.each([
    { order: 'first', accepted: ['ok', 'lost'] },
    { order: 'second', accepted: ['lost', 'ok'] },
  ])('when both report in one commit, the $order one was there first', ({ order, accepted }) => {
    const { world, one, two, first, second } = duplicated();
    const events = [
      one.reporting([{ kind: 'completed', lease: first.lease, result: '1' }]),
      two.reporting([{ kind: 'completed', lease: second.lease, result: '2' }]),
    ];
    const asks = world.together(order === 'first' ? events : events.toReversed());
    const replies = asks.map((ask) => world.takeReply(ask));
    const verdicts = replies.map((reply) =>
      reply?.type === 'verdicts' ? reply.verdicts[0] : null,
    );
    expect(order === 'first' ? verdicts : verdicts.toReversed()).toEqual(accepted);
    expect(world.task('job', 's0.0').result).toBe(order === 'first' ? 1 : 2);
    expect(world.history('job', 's0.0').filter((kind) => kind === 'completed')).toHaveLength(1);
  });

  test('and a fence of either attempt is never reused', () => {
    const { world, one, two, three, first, second } = duplicated();
    one.complete(first);
    // The output is lost with its node, and is recomputed.
    one.die();
    expect(take(three)).toMatchObject({ taskId: 's0.0', run: 2, lease: { fence: 3 } });
    expect(two.complete(second)).toBe('lost');
    expect(world.task('job', 's0.0')).toMatchObject({ state: 'running', run: 2 });
  });
});

describe('an attempt that does not succeed', () => {
  test.each<[string, (race: ReturnType<typeof duplicated>) => unknown]>([
    ['fails for good', ({ two, second }) => two.fail(second, { failure: 'fatal' })],
    ['fails for now', ({ two, second }) => two.fail(second)],
    ['lacks the executor', ({ two, second }) => two.fail(second, { failure: 'missing' })],
    ['does not find its input', ({ two, second }) => two.loseInput(second, { 's0.1': 1 })],
    ['is given back', ({ two, second }) => two.release(second)],
    ['loses its node', ({ two }) => two.die()],
    ['leaves with its node', ({ two }) => two.leave()],
    ['wants to wait', ({ two, second }) => two.sleep(second, 100)],
    ['wants to record a step', ({ two, second }) => two.step(second, 'a', 1)],
  ])('counts as nothing if it is the second one and %s', (_how, end) => {
    const race = duplicated();
    end(race);
    const { world, one, first } = race;
    expect(world.task('job', 's0.0')).toMatchObject({ ...counts, state: 'running', nodeId: 'w1' });
    expect(world.history('job', 's0.0').at(-1)).toBe('discarded');
    expect(one.complete(first)).toBe('ok');
  });

  test.each<[string, object, (race: ReturnType<typeof duplicated>) => unknown]>([
    ['fails for now', { failures: 1 }, ({ one, first }) => one.fail(first)],
    ['loses its node', { losses: 1 }, ({ one }) => one.die()],
    ['is given back', {}, ({ one, first }) => one.release(first)],
    ['leaves with its node', {}, ({ one }) => one.leave()],
  ])('leaves its place to the second one if it is the first and %s', (_how, counted, end) => {
    const race = duplicated();
    race.one.start(race.first);
    end(race);
    const { world, two, second } = race;
    const row = { ...counts, state: 'running', nodeId: 'w2', fence: 2, startedAt: null };
    expect(world.task('job', 's0.0')).toMatchObject({ ...row, ...counted });
    world.restart();
    expect(two.complete(second)).toBe('ok');
    expect(world.task('job', 's0.0').state).toBe('succeeded');
  });

  test('ends the task, and the second attempt, if it is the first and fails for good', () => {
    const { world, one, two, first, second } = duplicated();
    one.fail(first, { failure: 'fatal' });
    expect(world.job('job').state).toBe('failed');
    // The job has left the memory. The store knows the fence of the attempt that counted, which is not this one.
    expect(two.complete(second)).toBe('unknown');
    expect(world.task('job', 's0.0')).toMatchObject({ state: 'failed', fence: 1, failures: 1 });
  });
});

describe('a second attempt ends', () => {
  test('with its job: both are asked to stop, and the job waits for the first only', () => {
    const { world, one, two, first, second } = duplicated();
    two.park(0);
    world.cancel('job');
    world.assign();
    two.take();
    expect(two.orders.abort).toEqual([second.lease]);
    expect(two.complete(second)).toBe('lost');
    expect(one.beat().abort).toEqual([first.lease]);
    one.obey();
    expect(world.job('job').state).toBe('cancelled');
  });

  test('with the leader that gave it: the next one knows the first attempt only', () => {
    const { world, one, two, three, first, second } = duplicated();
    world.restart();
    expect(two.beat().abort).toEqual([second.lease]);
    expect(two.complete(second)).toBe('lost');
    world.advance(2 * MIN_MS);
    // Its second fence may have been given already: so nobody gets it.
    expect(two.poll()).toEqual([]);
    expect(one.fail(first)).toBe('ok');
    world.advance(2 * MIN_MS);
    expect(take(three)).toMatchObject({ taskId: 's0.0', lease: { fence: 3 } });
  });

  test('when its non-deterministic input is recomputed', () => {
    const world = new Harness({ settings: { stragglerMinMs: MIN_MS } });
    const [one, two, three] = [world.node('w1'), world.node('w2'), world.node('w3')] as const;
    const ids = ['s1.0', 's1.1'];
    const own = Object.fromEntries(ids.map((id) => [id, { output: 'deterministic' as const }]));
    const tasks = [echo('s0.0'), ...ids.map((id) => echo(id, { dependsOn: ['s0.0'] }))];
    world.submit(
      { name: 'job', tasks },
      { own: { ...own, 's0.0': { output: 'non-deterministic' } } },
    );
    make(three);
    const first = take(one);
    make(two);
    world.advance(MIN_MS);
    const second = take(two);
    three.die();
    expect(world.task('job', 's1.0').stopping).toBe('cancel');
    expect(one.complete(first)).toBe('lost');
    expect(two.complete(second)).toBe('lost');
    expect(world.states('job')).toEqual({ 's0.0': 'ready', 's1.0': 'blocked', 's1.1': 'blocked' });
  });

  test('not with a drain of its node, which waits for what it holds', () => {
    const { world, two, second } = duplicated();
    world.drain('w2');
    expect(two.complete(second)).toBe('ok');
    expect(world.task('job', 's0.0')).toMatchObject({ state: 'succeeded', nodeId: 'w2' });
  });
});
