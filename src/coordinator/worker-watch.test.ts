import { beforeEach, expect, test } from 'vitest';
import type { NodeId, SessionId } from '../core/index.ts';
import { settled } from '../testing/virtual-clock.ts';
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

beforeEach(() => {
  looks = 0;
  gone = [];
  watch = new WorkerWatch({
    look: async () => {
      looks += 1;
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
  },
);

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
