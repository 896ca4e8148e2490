import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { parseJobDocument } from '../index.ts';
import type { JobId } from '../index.ts';

type Raw = Readonly<Record<string, unknown>>;
const job = (name: string, whenBusy?: 'skip' | 'replace', more: object = {}): Raw => ({
  name,
  singleton: { key: 'k', ...(whenBusy === undefined ? {} : { whenBusy }) },
  tasks: [echo('a', { retry: { maxAttempts: 1 } })],
  ...more,
});

describe('while a singleton is live', () => {
  test('a second one is answered with it, until it has ended', () => {
    const world = new Harness();
    const node = world.node('w1');
    expect(world.submit(job('one'))).toMatchObject({ jobId: 'one', changed: true });
    expect(world.submit(job('two'))).toMatchObject({ jobId: 'one', changed: false });
    const [task] = node.poll(5);
    expect(world.submit(job('three', 'skip'))).toMatchObject({ jobId: 'one', state: 'running' });
    node.complete(task!);
    expect(world.submit(job('four'))).toMatchObject({ jobId: 'four', changed: true });
    expect(() => world.job('two')).toThrow('there is no job two');
  });

  test('one that replaces it cancels it and starts', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    const [task] = node.poll(5);
    expect(world.submit(job('two', 'replace'))).toMatchObject({ jobId: 'two', changed: true });
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['two']);
    node.abort(task!);
    expect(world.job('one')).toMatchObject({
      state: 'cancelled',
      error: { code: 'superseded', message: 'job two has replaced it' },
    });
    // The one that it has replaced leaves the key alone.
    expect(world.submit(job('three'))).toMatchObject({ jobId: 'two', changed: false });
  });

  test('other keys and jobs without one are not concerned', () => {
    const world = new Harness();
    world.submit(job('one'));
    expect(world.submit(job('two', 'skip', { singleton: { key: 'K' } }))).toMatchObject({
      changed: true,
    });
    expect(world.submit({ name: 'three', tasks: [echo('a')] })).toMatchObject({ changed: true });
  });

  test('it holds after a change of the leader, and no other one is accepted before the leader knows', () => {
    const world = new Harness();
    world.submit(job('one'));
    world.restart();
    expect(world.submit(job('two'))).toMatchObject({ jobId: 'one', changed: false });
    expect(world.submit(job('three', 'replace'))).toMatchObject({ jobId: 'three', changed: true });
    world.restart();
    expect(world.submit(job('four'))).toMatchObject({ jobId: 'three', changed: false });
    world.state.isComplete = false;
    expect(world.submit(job('five'))).toMatchObject({ jobId: 'three' });
    const other = job('six', 'skip', { singleton: { key: 'other' } });
    for (const raw of [other, job('seven', 'replace')]) {
      const [document, jobId] = [parseJobDocument(raw, world.settings), 'new' as JobId];
      expect(world.ask({ type: 'submit', jobId, document, inboxNo: 7 })).toMatchObject({
        type: 'refused',
        error: { code: 'loading' },
      });
    }
  });

  test('another one with its key cannot run again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    node.fail(node.poll(5)[0]!);
    world.submit(job('two'));
    const what = 'Job two is live and has the same singleton key, k.';
    expect(world.rerun('one')).toMatchObject({ error: { code: 'conflict', what } });
    node.complete(node.poll(5)[0]!);
    world.rerun('one');
    expect(world.submit(job('three'))).toMatchObject({ jobId: 'one', changed: false });
    world.restart();
    expect(world.submit(job('four'))).toMatchObject({ jobId: 'one', changed: false });
  });
});

describe('a schedule of a singleton', () => {
  const put = (world: Harness, whenBusy: 'skip' | 'replace'): void => {
    const { name, singleton, tasks } = job('run', whenBusy);
    world.schedule('s', { everyMs: 1_000, document: { name, singleton, tasks } });
  };
  const kinds = (world: Harness): string[] =>
    world.log().flatMap(({ kind }) => (kind.startsWith('schedule.') ? [kind] : []));

  test('leaves out its time while another job with the key is live', () => {
    const world = new Harness();
    world.submit(job('by-hand'));
    put(world, 'skip');
    world.advance(1_000);
    expect(kinds(world)).toEqual(['schedule.changed', 'schedule.missed']);
    expect(world.changeSchedule('s', 'trigger')).toMatchObject({ jobId: 'by-hand' });
    world.cancel('by-hand');
    world.advance(1_000);
    expect(kinds(world).at(-1)).toBe('schedule.fired');
  });

  test('takes its place if it is said to', () => {
    const world = new Harness();
    world.submit(job('by-hand'));
    put(world, 'replace');
    world.advance(1_000);
    expect(world.job('by-hand')).toMatchObject({
      state: 'cancelled',
      error: { code: 'superseded' },
    });
    expect(kinds(world).at(-1)).toBe('schedule.fired');
  });
});

test.each([
  [{ singleton: {} }, 'singleton'],
  [{ singleton: { key: '' } }, 'singleton'],
  [{ singleton: { key: 'k', whenBusy: 'wait' } }, 'singleton'],
  [{ singleton: 'k' }, 'singleton'],
  [{ singleton: { key: 'k' }, debounce: { key: 'd', ms: 1 } }, 'cannot be a singleton'],
  [{ singleton: { key: 'k' }, batch: { key: 'b', max: 2, ms: 1 } }, 'cannot be a singleton'],
])('%j is refused', (parts, why) => {
  const { settings } = new Harness().state;
  expect(() => parseJobDocument({ name: 'n', tasks: [echo('a')], ...parts }, settings)).toThrow(
    why,
  );
});
