import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Settings } from '../index.ts';

/** A world in which `node` has tasks of `job` to run. */
function world(
  ids: readonly string[] = ['a'],
  settings: Partial<Settings> = {},
): { world: Harness; node: ScriptedNode } {
  const world = new Harness({ settings });
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: ids.map((id) => echo(id)) });
  return { world, node };
}

describe('a signal', () => {
  test('wakes the task that waits for its name, and becomes its step', () => {
    const { world: w, node } = world();
    node.wait(node.poll()[0]!, { signals: ['go'] });
    expect(w.task('job', 'a')).toMatchObject({ state: 'blocked', suspended: 'signal' });
    expect(w.signal('job', 'other')).toMatchObject({ type: 'job', changed: true });
    expect(w.states('job')).toEqual({ a: 'blocked' });
    expect(w.signal('job', 'go', 7)).toMatchObject({ type: 'job', changed: true });
    expect(w.task('job', 'a')).toMatchObject({ state: 'ready', waits: null });
    expect(w.steps('job', 'a')).toEqual({
      '$signal/go': { value: 7 },
      '$at/signal/go': { at: w.now },
    });
    const [again] = node.poll();
    expect(again).toMatchObject({ taskId: 'a', resumed: true, attempt: 1 });
    expect(w.history('job', 'a')).toEqual([
      'created',
      'queued',
      'assigned',
      'suspended',
      'queued',
      'assigned',
    ]);
  });

  test('that came before is there at once', () => {
    const { world: w, node } = world();
    w.signal('job', 'go', 'early');
    w.restart();
    node.wait(node.poll()[0]!, { signals: ['go'], sleepMs: 60_000 });
    expect(w.task('job', 'a')).toMatchObject({ state: 'ready', notBefore: null, waits: null });
    expect(w.steps('job', 'a')).toMatchObject({ '$signal/go': { value: 'early' } });
  });

  test('is taken once, and by one task after the other', () => {
    const { world: w, node } = world(['a', 'b']);
    const [a, b] = node.poll(2);
    node.wait(b!, { signals: ['go'] });
    node.wait(a!, { signals: ['go'] });
    w.signal('job', 'go', 1);
    expect(w.states('job')).toEqual({ a: 'ready', b: 'blocked' });
    w.signal('job', 'go', 2);
    w.signal('job', 'go', 3);
    expect(w.steps('job', 'a')).toMatchObject({ '$signal/go': { value: 1 } });
    expect(w.steps('job', 'b')).toMatchObject({ '$signal/go': { value: 2 } });
    const taken = w.rows.jobsById.get('job' as never)?.signals.map((signal) => signal.taken);
    expect(taken).toEqual([true, true, false]);
  });

  test('goes to waits in the order in which it came', () => {
    const { world: w, node } = world();
    w.signal('job', 'go', 'first');
    w.signal('job', 'go', 'second');
    const [a] = node.poll();
    const signals = [
      { step: '$signal/one', name: 'go' },
      { step: '$signal/two', name: 'go' },
      // The same step again takes nothing.
      { step: '$signal/two', name: 'go' },
    ];
    node.suspend(a!, { type: 'wait', sleeps: [], signals, jobs: [] });
    expect(w.steps('job', 'a')).toMatchObject({
      '$signal/one': { value: 'first' },
      '$signal/two': { value: 'second' },
    });
  });

  test('that is sent again under its id changes nothing', () => {
    const { world: w, node } = world();
    node.wait(node.poll()[0]!, { signals: ['go'] });
    w.signal('job', 'go', 1, 'me-1');
    w.restart();
    expect(w.signal('job', 'go', 2, 'me-1')).toMatchObject({ type: 'job', changed: false });
    expect(w.rows.jobsById.get('job' as never)?.signals).toHaveLength(1);
    expect(w.log().filter(({ kind }) => kind === 'job.signalled')).toMatchObject([
      { detail: '{"name":"go","id":"me-1","takenBy":"a"}' },
    ]);
  });

  test('that is sent again after the end that it brought about is not refused', () => {
    const { world: w, node } = world();
    w.signal('job', 'go', 1, 'me-1');
    node.complete(node.poll()[0]!);
    expect(w.job('job').state).toBe('succeeded');
    expect(w.signal('job', 'go', 1, 'me-1')).toMatchObject({ state: 'succeeded', changed: false });
    expect(w.state.jobs.size).toBe(0);
  });

  test('is not for a task that has been woken by something else', () => {
    const { world: w, node } = world();
    node.wait(node.poll()[0]!, { signals: ['go'], sleepMs: 1_000 });
    w.advance(1_000);
    w.signal('job', 'go', 'late');
    expect(w.steps('job', 'a')).not.toHaveProperty('$signal/go');
    node.wait(node.poll()[0]!, { signals: ['go'] });
    expect(w.steps('job', 'a')).toMatchObject({ '$signal/go': { value: 'late' } });
  });

  test('stays with the job in its next run', () => {
    const { world: w, node } = world();
    node.wait(node.poll()[0]!, { signals: ['go'] });
    w.signal('job', 'go', 1);
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    w.rerun('job');
    node.wait(node.poll()[0]!, { signals: ['go'] });
    expect(w.states('job')).toEqual({ a: 'blocked' });
    w.signal('job', 'go', 2);
    expect(w.steps('job', 'a')).toMatchObject({ '$signal/go': { value: 2 } });
  });
});

describe('a signal is refused', () => {
  const refused = (code: string): object => ({ type: 'refused', error: { code } });

  test('by a job that is not there', () => {
    const { world: w } = world();
    expect(w.signal('ghost', 'go')).toMatchObject(refused('not_found'));
  });

  test('by a job that has ended', () => {
    const { world: w, node } = world();
    node.complete(node.poll()[0]!);
    expect(w.signal('job', 'go')).toMatchObject(refused('conflict'));
    expect(w.state.jobs.size).toBe(0);
  });

  test('by a job that is being stopped', () => {
    const { world: w, node } = world();
    node.poll();
    w.cancel('job');
    expect(w.signal('job', 'go')).toMatchObject(refused('conflict'));
  });

  test('when the job was sent too many, taken or not', () => {
    const { world: w, node } = world(['a'], { signalsPerJobMax: 2 });
    node.wait(node.poll()[0]!, { signals: ['go'] });
    w.signal('job', 'go', 1, 'one');
    w.signal('job', 'go');
    w.restart();
    expect(w.signal('job', 'go')).toMatchObject(refused('conflict'));
    expect(w.signal('job', 'go', 1, 'one')).toMatchObject({ type: 'job', changed: false });
  });

  test('when it is too large', () => {
    const { world: w } = world(['a'], { signalBytesMax: 20 });
    expect(w.signal('job', 'go', 'ä'.repeat(8))).toMatchObject(refused('too_large'));
    expect(w.signal('job', 'go', 'a'.repeat(8))).toMatchObject({ type: 'job' });
  });
});
