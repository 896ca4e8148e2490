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

  test('does not replace one that has started, or those with another key', () => {
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

describe('while jobs are being loaded, a debounced one', () => {
  const superseded = { state: 'cancelled', error: { code: 'superseded' } };

  test('does not end before the older one is there to be replaced', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('older', { ms: 5_000 }));
    world.restartWith([[], world.rows.liveImages()], () => {
      world.submit(job('newer'));
      world.advance(6_000);
      for (const assignment of node.poll(5)) node.complete(assignment);
    });
    expect(world.job('older')).toMatchObject(superseded);
    world.advance(100);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['newer']);
  });

  test('does not start before the newer one is there to replace it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('older', { ms: 5_000 }));
    // This leader ends before it has loaded the older one.
    world.restartWith([[], []], () => world.submit(job('newer')));
    const [older, newer] = world.rows.liveImages();
    world.restartWith([[older!], [newer!]], () => {
      world.advance(6_000);
      expect(node.poll(5)).toEqual([]);
    });
    expect(world.job('older')).toMatchObject(superseded);
    world.advance(100);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['newer']);
  });

  test('replaces the older one even if it is cancelled before that one is there', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('older'));
    world.restartWith([[], world.rows.liveImages()], () => {
      world.submit(job('newer'));
      world.cancel('newer');
    });
    expect(world.job('older')).toMatchObject(superseded);
    world.advance(2_000);
    expect(node.poll(5)).toEqual([]);
    // With all of them loaded, the next one begins anew.
    world.submit(job('next'));
    world.advance(1_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['next']);
  });

  test('is replaced by the next one, even if that one was replaced before it is there', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('a', { ms: 2_000 }));
    // Two leaders that end before they have loaded anything.
    world.restartWith([[], []], () => {
      world.advance(1_500);
      world.submit(job('b', { ms: 3_000 }));
      world.advance(1_000);
      world.submit(job('c', { ms: 3_000 }));
    });
    world.restartWith([[], []], () => {
      world.advance(1_000);
      world.submit(job('d', { ms: 3_000 }));
    });
    const [a, c, d] = world.rows.liveImages();
    world.restartWith([[d!], [a!], [c!]]);
    const codes = ['a', 'b', 'c'].map((id) => world.job(id).error?.code);
    expect(codes).toEqual(['superseded', 'superseded', 'superseded']);
    world.advance(3_000);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['d']);
  });

  test('is not replaced by one that came after its time', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit(job('older'));
    world.restartWith([[], world.rows.liveImages()], () => {
      world.advance(1_500);
      world.submit(job('newer'));
    });
    world.advance(100);
    expect(node.poll(5).map(({ jobId }) => jobId)).toEqual(['older']);
  });

  test('that was asked for again is not replaced again', () => {
    const world = new Harness();
    world.submit(job('older', { ms: 5_000 }));
    world.submit(job('newer', { ms: 5_000 }));
    world.rerun('older');
    world.restart();
    expect(world.job('older')).toMatchObject({ state: 'queued', run: 2 });
  });

  test('is not held up once it has started', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ ...job('job'), tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] });
    world.advance(1_000);
    const [a] = node.poll(5);
    world.restartWith([world.rows.liveImages(), []], () => {
      node.complete(a!);
      expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['b']);
    });
  });
});
