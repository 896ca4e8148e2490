import { beforeEach, expect, test } from 'vitest';
import type { NodeId, SessionId } from '../core/index.ts';
import { deferred } from '../kit/index.ts';
import { VirtualClock, settled } from '../testing/virtual-clock.ts';
import { WorkerWatch } from './worker-watch.ts';
import type { Sight } from './worker-watch.ts';

const session = { nodeId: 'w' as NodeId, sessionId: 's1' as SessionId };
const seenAs = (sessionId: string): Sight => ({
  seen: 'session',
  sessionId: sessionId as SessionId,
});

let sight: Sight | Error;
let looks: number;
let gone: SessionId[];
let watch: WorkerWatch;
/** Instead of `sight`, if not null. */
let answer: () => Promise<Sight> | null;
let clock: VirtualClock;

beforeEach(() => {
  looks = 0;
  gone = [];
  answer = () => null;
  clock = new VirtualClock();
  watch = new WorkerWatch({
    clock,
    overdueMs: 800,
    look: async () => {
      looks += 1;
      const other = answer();
      if (other !== null) return other;
      if (sight instanceof Error) throw sight;
      return sight;
    },
    addressOf: () => 'host:1',
    onGone: ({ sessionId }) => gone.push(sessionId),
  });
});

async function heardAt(first: Sight): Promise<void> {
  sight = first;
  watch.heard(session);
  await settled();
}

async function lostAt(later: Sight | Error): Promise<SessionId[]> {
  sight = later;
  watch.lost(session);
  await settled();
  return gone;
}

test('a worker whose address refuses after its connection dropped is gone', async () => {
  await heardAt(seenAs('s1'));
  expect(await lostAt({ seen: 'refused' })).toEqual(['s1']);
});

test('a worker whose address answers for another session is gone', async () => {
  await heardAt(seenAs('s1'));
  expect(await lostAt(seenAs('s2'))).toEqual(['s1']);
});

test.each([{ seen: 'silent' } as const, seenAs('s1'), new Error('no route')])(
  '%o proves nothing: only time can end the session',
  async (later) => {
    await heardAt(seenAs('s1'));
    expect(await lostAt(later)).toEqual([]);
    await clock.advance(60_000);
    expect(gone).toEqual([]);
  },
);

test('silence is asked again, and the refusal that follows counts', async () => {
  await heardAt(seenAs('s1'));
  expect(await lostAt({ seen: 'silent' })).toEqual([]);
  sight = { seen: 'refused' };
  await clock.advance(100);
  expect(gone).toEqual(['s1']);
});

test('one that did not answer at first is asked again, so that its end is noticed later', async () => {
  await heardAt({ seen: 'silent' });
  sight = seenAs('s1');
  await clock.advance(100);
  expect(await lostAt({ seen: 'refused' })).toEqual(['s1']);
});

test('a session that speaks again while it is looked for is not gone', async () => {
  await heardAt(seenAs('s1'));
  await lostAt({ seen: 'silent' });
  await heardAt({ seen: 'refused' });
  await clock.advance(700);
  expect(gone).toEqual([]);
});

test('a connection that drops while the first look is under way is not overlooked', async () => {
  const first = deferred<Sight>();
  sight = { seen: 'refused' };
  answer = () => (looks === 1 ? first.promise : null);
  watch.heard(session);
  await settled();
  watch.lost(session);
  first.resolve(seenAs('s1'));
  await settled();
  expect(gone).toEqual([]);
  await clock.advance(100);
  expect(gone).toEqual(['s1']);
});

test('a session that stops renewing itself is looked for', async () => {
  await heardAt(seenAs('s1'));
  sight = { seen: 'refused' };
  for (let beat = 0; beat < 5; beat += 1) {
    watch.renewed(session);
    await clock.advance(700);
  }
  expect(gone).toEqual([]);
  await clock.advance(100);
  expect(gone).toEqual(['s1']);
});

test('a session that never renews itself is looked for as well', async () => {
  await heardAt(seenAs('s1'));
  sight = { seen: 'refused' };
  await clock.advance(800);
  expect(gone).toEqual(['s1']);
});

test('who leads no more looks for nobody', async () => {
  await heardAt(seenAs('s1'));
  watch.renewed(session);
  watch.rest();
  sight = { seen: 'refused' };
  await clock.advance(60_000);
  expect(looks).toBe(1);
});

test('a refusal counts for nothing where the session never answered', async () => {
  await heardAt({ seen: 'silent' });
  expect(await lostAt({ seen: 'refused' })).toEqual([]);
  await heardAt(seenAs('other'));
  expect(await lostAt({ seen: 'refused' })).toEqual([]);
});

test('a session that has answered once is not looked at with every word', async () => {
  await heardAt(seenAs('s1'));
  watch.heard(session);
  await settled();
  expect(looks).toBe(1);
});
