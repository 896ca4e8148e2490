import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

const job = (name: string, more: object = {}): Readonly<Record<string, unknown>> => ({
  name,
  debounce: { key: 'k', ms: 1_000, ...more },
  tasks: [echo('a')],
});

describe('a debounced job', () => {
  test('starts when no other one with its key has come for a while; the last one wins', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    world.advance(900);
    world.submit(job('two'));
    expect(world.job('one')).toMatchObject({
      state: 'cancelled',
      error: { code: 'superseded', message: 'job two has replaced it' },
    });
    world.advance(999);
    expect(node.poll(5)).toEqual([]);
    world.advance(1);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['two']);
  });

  test('waits no longer than the first of them may', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let no = 0; no < 5; no += 1) {
      world.submit(job(`j${no}`, { maxMs: 2_500 }));
      world.advance(500);
    }
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['j4']);
    // The next one begins anew.
    world.submit(job('later', { maxMs: 2_500 }));
    world.advance(999);
    expect(node.poll(5)).toEqual([]);
    world.advance(1);
    expect(node.poll(5)).toHaveLength(1);
  });

  test('leaves others alone: one that has started, and those with another key', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('started'));
    world.advance(1_000);
    node.poll(5);
    world.submit(job('next'));
    world.submit({ ...job('other'), debounce: { key: 'another', ms: 1_000 } });
    world.advance(1_000);
    expect(
      node
        .poll(5)
        .map(({ jobId }) => jobId)
        .toSorted(),
    ).toEqual(['next', 'other']);
    expect(world.job('started').state).toBe('running');
  });

  test('is replaced after a restart too, and the maximum still counts from the first', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one', { maxMs: 1_500 }));
    world.advance(900);
    world.restart();
    world.submit(job('two', { maxMs: 1_500 }));
    expect(world.job('one').state).toBe('cancelled');
    world.advance(600);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['two']);
  });

  test('can be cancelled, and the next one does not revive it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('one'));
    world.cancel('one');
    world.submit(job('two'));
    expect(world.job('one').error?.code).toBe('cancelled');
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['two']);
  });
});
