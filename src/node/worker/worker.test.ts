import { afterEach, beforeEach, expect, test } from 'vitest';
import { Gate, calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig, RigOptions } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';

let leader: FakeLeader;
let gate: Gate;
let started: Rig | null = null;

beforeEach(() => {
  leader = new FakeLeader();
  gate = new Gate('gate');
});

/** A worker that is left over would poll for ever. */
afterEach(async () => {
  const rest = started;
  started = null;
  if (rest === null || !rest.worker.running) return;
  for (const { end } of gate.calls) end.resolve(null);
  leader.onHeartbeat = () => Promise.reject(failed('superseded'));
  const stopped = rest.worker.stop();
  await rest.clock.advance(60_000);
  await stopped;
});

async function start(options: Partial<RigOptions> = {}): Promise<Rig> {
  started = rig({ leader, tasks: [gate], ...options });
  await started.worker.start();
  await calm();
  return started;
}

function failed(code: MillraceError['code']): MillraceError {
  return new MillraceError({ code, what: `${code}.` });
}

test('it registers with its slots and prefetch, and polls only after that', async () => {
  await start({ slots: 3, prefetch: 2 });
  expect(leader.registered).toMatchObject([{ id: 'w', sessionId: 's1', slots: 3, prefetch: 2 }]);
  expect(leader.registered[0]!.executors).toEqual(
    expect.arrayContaining(['echo', 'gate', 'sleep']),
  );
  expect(leader.polls).toEqual([
    { nodeId: 'w', sessionId: 's1', pollNo: 1, capacity: 5, held: [], refills: true, waits: true },
  ]);
});

test('a worker without slots registers and polls for orders only', async () => {
  const { clock } = await start({ slots: 0 });
  await clock.advance(10_000);
  expect(leader.registered).toMatchObject([{ slots: 0 }]);
  expect(new Set(leader.polls.map(({ capacity }) => capacity))).toEqual(new Set([0]));
});

test('it retries registration forever, with backoff', async () => {
  let failures = 0;
  leader.onRegister = () => {
    failures += 1;
    return failures <= 20
      ? Promise.reject(failed('unreachable'))
      : Promise.resolve({ sessionTtlMs: 20_000, heartbeatMs: 3_000 });
  };
  started = rig({ leader });
  const { worker, clock } = started;
  const starting = worker.start();
  await clock.advance(5_000);
  expect(failures).toBe(10);
  expect(worker.running).toBe(false);
  await clock.advance(20_000);
  await starting;
  expect(failures).toBe(21);
  expect(new Set(leader.registered.map(({ sessionId }) => sessionId))).toEqual(new Set(['s1']));
});

test('an incompatible leader fails the start with its message', async () => {
  leader.onRegister = () => Promise.reject(failed('incompatible'));
  await expect(rig({ leader }).worker.start()).rejects.toThrow('incompatible.');
});

test('a wrong token fails the start, but not a later registration', async () => {
  leader.onRegister = () => Promise.reject(failed('unauthenticated'));
  await expect(rig({ leader }).worker.start()).rejects.toThrow('unauthenticated.');

  leader = new FakeLeader();
  const { clock, worker } = await start();
  let refusals = 0;
  leader.onRegister = () => {
    refusals += 1;
    return refusals === 1
      ? Promise.reject(failed('unauthenticated'))
      : Promise.resolve({ sessionTtlMs: 20_000, heartbeatMs: 3_000 });
  };
  leader.refusePoll(failed('unknown_session'));
  await clock.advance(1_000);
  expect(refusals).toBe(2);
  expect(worker.running).toBe(true);
});

test('a stop before the registration succeeds ends the start', async () => {
  leader.onRegister = () => Promise.reject(failed('unreachable'));
  const { worker } = rig({ leader });
  const starting = worker.start();
  await calm();
  const stopping = worker.stop();
  await expect(starting).rejects.toThrow('stopped before it was registered');
  await stopping;
  expect(leader.left).toEqual([]);
});

test('a task runs, and its start and its result travel in one report', async () => {
  await start();
  leader.give(assignment(1, 'echo', { input: '{"x":1}' }));
  await calm();
  expect(leader.reports).toEqual([[{ kind: 'completed', lease: lease(1), result: '{"x":1}' }]]);
  leader.answer(true);
  await started!.clock.advance(50);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 3, capacity: 4, held: [] });
});

test('the start of a long task is reported at once', async () => {
  await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  expect(leader.reported).toEqual(['started 1']);
  expect(leader.polls.at(-1)).toMatchObject({ capacity: 3, held: [lease(1)] });
});

test('no more handlers than slots run; the rest is queued in order', async () => {
  await start({ slots: 2, prefetch: 2 });
  leader.give(...[1, 2, 3, 4, 5].map((no) => assignment(no, 'gate')));
  await calm();
  expect(gate.calls).toHaveLength(2);
  gate.calls[1]!.end.resolve('done');
  await calm();
  expect(gate.calls.map(({ context }) => context.taskId)).toEqual(['t1', 't2', 't3']);
});

test('a result that was not acknowledged is held and reported again until there is a verdict', async () => {
  const { clock } = await start();
  const lost = deferred();
  leader.onReport = () => lost.promise.then(() => Promise.reject(failed('unreachable')));
  leader.give(assignment(1, 'echo', { input: '7' }));
  await calm();
  expect(leader.polls.at(-1)?.held).toEqual([lease(1)]);
  lost.resolve();
  await clock.advance(200);
  leader.onReport = () => Promise.resolve();
  await clock.advance(400);
  expect(leader.reports.length).toBeGreaterThan(2);
  for (const items of leader.reports) {
    expect(items).toEqual([{ kind: 'completed', lease: lease(1), result: '7' }]);
  }
  const sent = leader.reports.length;
  await clock.advance(60_000);
  expect(leader.reports).toHaveLength(sent);
});

test('a `lost` verdict aborts the handler, and nothing more is reported', async () => {
  await start();
  leader.verdict = () => 'lost';
  leader.give(assignment(1, 'gate'));
  await calm();
  expect(gate.signals[0]!.aborted).toBe(true);
  expect(gate.signals[0]!.reason).toMatchObject({ code: 'superseded' });
  leader.answer(true);
  await started!.clock.advance(50);
  expect(leader.reported).toEqual(['started 1']);
  expect(leader.polls.at(-1)).toMatchObject({ capacity: 4, held: [] });
});

test('an abort order aborts the handler, which is then reported', async () => {
  await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  await calm();
  expect(gate.signals[0]!.reason).toBeInstanceOf(MillraceError);
  expect(leader.reported).toEqual(['started 1', 'aborted 1']);
});

test('an aborted handler that completes reports its result: the leader decides', async () => {
  gate = new Gate('gate', false);
  await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  await calm();
  gate.calls[0]!.end.resolve('done all the same');
  await calm();
  expect(leader.reported).toEqual(['started 1', 'completed 1']);
});

test('a cancelled prefetched task is never started', async () => {
  await start({ slots: 1, prefetch: 1 });
  leader.give(assignment(1, 'gate'), assignment(2, 'gate'));
  await calm();
  leader.orders = { abort: [lease(2)], drain: false, slowDownMs: 0 };
  leader.onHeartbeat = () => Promise.resolve(leader.orders);
  await started!.clock.advance(3_000);
  await calm();
  expect(leader.reported).toEqual(['started 1', 'aborted 2']);
  gate.calls[0]!.end.resolve(1);
  await calm();
  expect(gate.calls).toHaveLength(1);
});

test('a handler that ignores its abort ends the process after the grace period', async () => {
  gate = new Gate('gate', false);
  const { clock, stuck } = await start({ settings: { abortGraceMs: 5_000 } });
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  await clock.advance(4_999);
  expect(stuck).toEqual([]);
  await clock.advance(2);
  expect(stuck[0]?.message).toContain(
    't1 of job job did not stop within 5000 ms of its abort signal',
  );
});

test('with an order outstanding the leader is not polled more often than allowed', async () => {
  gate = new Gate('gate', false);
  const { clock } = await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  const before = leader.polls.length;
  await clock.advance(1_000);
  expect(leader.polls.length - before).toBeGreaterThan(10);
  expect(leader.polls.length - before).toBeLessThanOrEqual(21);
});

test('a requested backoff of the leader is respected', async () => {
  const { clock } = await start();
  leader.orders = { abort: [], drain: false, slowDownMs: 1_000 };
  leader.answer(true);
  await clock.advance(999);
  expect(leader.polls).toHaveLength(1);
  await clock.advance(1);
  expect(leader.polls).toHaveLength(2);
});

test('what the leader says of fetches reaches whoever fetches', async () => {
  const heard: unknown[] = [];
  const hear = (given: unknown): number => heard.push(given);
  await start({ onFetchWindow: hear, onFetchAhead: hear });
  const fetchAhead = [{ query: 'q' as JobId, reads: '[]' }];
  leader.orders = { abort: [], drain: false, slowDownMs: 0, fetchWindowBytes: 4_096, fetchAhead };
  leader.answer(true);
  await calm();
  expect(heard.slice(0, 2)).toEqual([4_096, fetchAhead]);
});

test('a parked poll accepts one more task for each ended one, without being renewed', async () => {
  const { clock } = await start({ slots: 2, prefetch: 0 });
  leader.give(...[1, 2, 3].map((no) => assignment(no, 'gate')));
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 2, capacity: 0, refills: true });
  gate.calls[0]!.end.resolve(null);
  await calm();
  expect(leader.reported).toContain('started 3');
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 3, capacity: 0 });
  gate.calls[1]!.end.resolve(null);
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 3 });
});

test('a parked poll is renewed only when twice as many slots are free as the leader knows of', async () => {
  const { clock } = await start({ slots: 4, prefetch: 0 });
  leader.give(...[1, 2, 3].map((no) => assignment(no, 'gate')));
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 2, capacity: 1 });
  // Of a lease that it had lost before, the leader learns no end.
  leader.verdict = ({ kind }) => (kind === 'completed' ? 'lost' : 'ok');
  gate.calls[0]!.end.resolve(null);
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 3, capacity: 2 });
  gate.calls[1]!.end.resolve(null);
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 3, capacity: 2 });
  gate.calls[2]!.end.resolve(null);
  await clock.advance(100);
  expect(leader.polls.at(-1)).toMatchObject({ pollNo: 4, capacity: 4 });
});

test.each(['unknown_session', 'superseded'] as const)(
  'on %s it drops everything and registers under a new session id',
  async (code) => {
    const { clock } = await start();
    leader.give(assignment(1, 'gate'), assignment(2, 'gate'), assignment(3, 'gate'));
    await calm();
    await calm();
    leader.refusePoll(failed(code));
    await calm();
    expect(gate.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    await clock.advance(1_000);
    expect(leader.registered.map(({ sessionId }) => sessionId)).toEqual(['s1', 's2']);
    expect(leader.polls.at(-1)).toMatchObject({
      sessionId: 's2',
      pollNo: 1,
      capacity: 4,
      held: [],
    });
    expect(leader.reported).toEqual(['started 1', 'started 2']);
    expect(gate.calls).toHaveLength(2);
  },
);

test('two workers with one name do not replace each other forever', async () => {
  const { clock } = await start();
  leader.onPoll = () => {
    throw failed('superseded');
  };
  leader.refusePoll(failed('superseded'));
  await clock.advance(120_000);
  expect(leader.registered.length).toBeGreaterThan(5);
  expect(leader.registered.length).toBeLessThan(20);
  leader.onPoll = () => {};
  await clock.advance(60_000);
});

test('a new session waits for the handlers of the old one', async () => {
  gate = new Gate('gate', false);
  const { clock } = await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.refusePoll(failed('superseded'));
  await clock.advance(1_000);
  expect(leader.registered).toHaveLength(1);
  gate.calls[0]!.end.resolve('too late');
  await clock.advance(1_000);
  expect(leader.registered).toHaveLength(2);
  expect(leader.reported).toEqual(['started 1']);
});

test('without answers to its heartbeats it stops its work before the leases can expire', async () => {
  const { clock } = await start();
  leader.give(assignment(1, 'gate'));
  await clock.advance(3_000);
  expect(leader.beats).toHaveLength(1);
  leader.onHeartbeat = () => Promise.reject(failed('unreachable'));
  // The last accepted one was sent at 3 s, the TTL is 20 s and the margin 2 s.
  await clock.advance(17_999);
  expect(gate.signals[0]!.aborted).toBe(false);
  await clock.advance(1);
  expect(gate.signals[0]!.aborted).toBe(true);
  await clock.advance(1_000);
  expect(leader.registered.map(({ sessionId }) => sessionId)).toEqual(['s1', 's2']);
});

test('a missing executor is reported as missing, by name', async () => {
  await start();
  leader.give(assignment(1, 'nobody'));
  await calm();
  expect(leader.items.at(-1)).toEqual({
    kind: 'failed',
    lease: lease(1),
    failure: 'missing',
    error: {
      code: 'missing_executor',
      message: "executor 'nobody' is not registered on worker",
    },
  });
});

test('an assignment that is sent again runs once', async () => {
  await start();
  leader.give(assignment(1, 'gate'));
  await calm();
  leader.give(assignment(1, 'gate'));
  await calm();
  expect(gate.calls).toHaveLength(1);
});

test('with too many unacknowledged reports it takes no more work', async () => {
  const { clock } = await start({ settings: { unreportedBytesMax: 10 } });
  leader.onReport = () => Promise.reject(failed('unreachable'));
  leader.give(assignment(1, 'echo', { input: '"a long result"' }));
  await clock.advance(100);
  expect(leader.polls).toHaveLength(2);
  leader.answer(true);
  await clock.advance(10_000);
  expect(leader.polls.slice(2).every(({ capacity }) => capacity === 0)).toBe(true);
  leader.onReport = () => Promise.resolve();
  await clock.advance(10_000);
  expect(leader.polls.at(-1)).toMatchObject({ capacity: 4, held: [] });
});
