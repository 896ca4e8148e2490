import { expect, test } from 'vitest';
import { VirtualClock } from '../../kit/index.ts';
import { MillraceError, type ErrorCode } from '../../scheduler/core/index.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import { ServerPresence } from './presence.ts';

/** A leader that notes what it hears; `fails` are the codes of the next answers. */
function noted() {
  const heard: string[] = [];
  const said: string[] = [];
  const sessions = new Set<string>();
  const fails: (ErrorCode | null)[] = [];
  const answer = <T>(word: string, value: T): Promise<T> => {
    heard.push(word);
    const code = fails.shift() ?? null;
    if (code === null) return Promise.resolve(value);
    return Promise.reject(new MillraceError({ code, what: word }));
  };
  const clock = new VirtualClock();
  const presence = new ServerPresence({
    nodeId: 'node-2',
    handshake: ownHandshake(),
    capabilities: {},
    clock,
    say: (text) => void said.push(text),
    leader: {
      register: (offer) => {
        sessions.add(offer.sessionId);
        expect(offer).toMatchObject({ id: 'node-2', slots: 0, executors: [] });
        return answer('register', { ...ownHandshake(), sessionTtlMs: 20_000, heartbeatMs: 1_000 });
      },
      heartbeat: () => answer('beat', { abort: [], drain: false, slowDownMs: 0 }),
      leave: () => answer('leave', undefined),
    },
  });
  return { heard, said, sessions, fails, clock, presence };
}

async function pass(clock: VirtualClock, ms: number): Promise<void> {
  await clock.advance(ms);
}

test('registers without slots, renews, and leaves', async () => {
  const { heard, clock, presence } = noted();
  await presence.start();
  await pass(clock, 1_000);
  await pass(clock, 1_000);
  await presence.stop();
  await pass(clock, 10_000);
  expect(heard).toEqual(['register', 'beat', 'beat', 'leave']);
});

test('keeps its session through a fail-over, and registers again when the session has ended', async () => {
  const { heard, sessions, fails, clock, presence } = noted();
  await presence.start();
  fails.push('not_leader', 'unknown_session');
  for (let beat = 0; beat < 3; beat += 1) await pass(clock, 1_000);
  expect(heard).toEqual(['register', 'beat', 'beat', 'register']);
  expect(sessions.size).toBe(2);
  await presence.stop();
});

test('tries again while its name is taken or nobody leads', async () => {
  const { heard, fails, clock, presence } = noted();
  fails.push('not_leader', 'name_taken');
  await presence.start();
  await pass(clock, 3_000);
  await pass(clock, 3_000);
  expect(heard).toEqual(['register', 'register', 'register']);
  await presence.stop();
});

test('says once that another server has its name, until it is registered', async () => {
  const { said, fails, clock, presence } = noted();
  fails.push(
    'name_taken',
    'not_leader',
    'name_taken',
    'conflict',
    null,
    'superseded',
    'name_taken',
  );
  await presence.start();
  for (let tries = 0; tries < 3; tries += 1) await pass(clock, 3_000);
  const text = 'Another server or worker uses the node id node-2. Give each its own --node-id.';
  expect(said).toEqual([text]);
  for (let tries = 0; tries < 3; tries += 1) await pass(clock, 3_000);
  expect(said).toEqual([text, text]);
  await presence.stop();
});

test('leaves a session whose registration was under way when it was stopped', async () => {
  const { heard, presence } = noted();
  const starting = presence.start();
  await presence.stop();
  await starting;
  expect(heard).toEqual(['register', 'leave']);
});
