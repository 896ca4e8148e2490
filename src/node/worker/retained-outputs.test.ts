import { expect, test } from 'vitest';
import { FakeLeader } from '../../../test/rig/fake-leader.ts';
import { VirtualClock, settled } from '../../kit/index.ts';
import type { JobId, NodeId, SessionId } from '../../scheduler/core/index.ts';
import { RetainedOutputs } from './retained-outputs.ts';
import type { Outputs } from './retained-outputs.ts';

const SESSION = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };

/** Queries with what each has here. */
class RetainedOutput implements Outputs {
  readonly kept: Map<string, Set<'inner' | 'result'>>;

  constructor(kept: Readonly<Record<string, readonly ('inner' | 'result')[]>>) {
    this.kept = new Map(Object.entries(kept).map(([query, kinds]) => [query, new Set(kinds)]));
  }

  queries(kind?: 'inner' | 'result'): readonly JobId[] {
    return [...this.kept]
      .filter(([, kinds]) => kind === undefined || kinds.has(kind))
      .map(([query]) => query as JobId);
  }

  drop(query: JobId, kind?: 'inner' | 'result'): Promise<void> {
    const kinds = this.kept.get(query);
    if (kind !== undefined) kinds?.delete(kind);
    if (kind === undefined || kinds?.size === 0) this.kept.delete(query);
    return Promise.resolve();
  }
}

function scene(retained: RetainedOutput) {
  const leader = new FakeLeader();
  const clock = new VirtualClock();
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const kept = new RetainedOutputs({ outputs: retained, leader, clock, say, askMs: 10_000 });
  /** Ten seconds later, and what comes of it. */
  const later = async (ms = 10_000): Promise<void> => {
    await clock.advance(ms);
    await settled();
  };
  return { leader, clock, kept, lines, later };
}

test('unneeded outputs are removed, and results are kept longer', async () => {
  const retained = new RetainedOutput({
    gone: ['inner', 'result'],
    done: ['inner', 'result'],
    live: ['inner'],
  });
  const { leader, kept, later } = scene(retained);
  leader.onUnneeded = (queries, kind) =>
    Promise.resolve(
      queries.filter((query) => query === 'gone' || (kind === 'inner' && query === 'done')),
    );
  kept.showSession(SESSION);
  await later(9_000);
  expect([...retained.kept.keys()]).toEqual(['gone', 'done', 'live']);
  await later(1_000);
  expect([...retained.kept].map(([query, kinds]) => [query, ...kinds])).toEqual([
    ['done', 'result'],
    ['live', 'inner'],
  ]);
});

test('a worker without outputs, or without a session, does not ask the leader', async () => {
  const retained = new RetainedOutput({});
  const { leader, kept, later } = scene(retained);
  let asked = 0;
  leader.onUnneeded = () => {
    asked += 1;
    return Promise.resolve([]);
  };
  kept.showSession(SESSION);
  await later();
  expect(asked).toBe(0);
  retained.kept.set('q', new Set(['inner']));
  await later();
  expect(asked).toBe(2);
  kept.showSession(null);
  await later(60_000);
  expect(asked).toBe(2);
});

test('a leader that does not answer is asked again', async () => {
  const retained = new RetainedOutput({ q: ['inner'] });
  const { leader, kept, later, lines } = scene(retained);
  leader.onUnneeded = () => Promise.reject(new Error('nobody leads'));
  kept.showSession(SESSION);
  await later();
  expect(lines).toEqual(['Query outputs are kept for now: nobody leads']);
  leader.onUnneeded = (queries) => Promise.resolve(queries);
  await later();
  expect(retained.kept.size).toBe(0);
});

test('before it leaves it waits for readers, up to its deadline', async () => {
  const { leader, kept, later } = scene(new RetainedOutput({ q: ['inner', 'result'] }));
  let isOver = false;
  leader.onUnneeded = (queries, kind) => Promise.resolve(isOver && kind === 'inner' ? queries : []);
  let released = 0;
  const wait = async (signal: AbortSignal): Promise<void> => {
    await kept.released(SESSION, signal);
    released += 1;
  };
  const limit = new AbortController();
  void wait(limit.signal);
  void wait(new AbortController().signal);
  await later(1_000);
  expect(released).toBe(0);
  limit.abort();
  await settled();
  expect(released).toBe(1);
  isOver = true;
  await later(1_000);
  expect(released).toBe(2);
});

test('an unresponsive leader does not delay it beyond its deadline', async () => {
  const { leader, kept } = scene(new RetainedOutput({ q: ['inner'] }));
  leader.onUnneeded = () => new Promise(() => {});
  const limit = new AbortController();
  const released = kept.released(SESSION, limit.signal);
  await settled();
  limit.abort();
  await expect(released).resolves.toBeUndefined();
});
