import { beforeEach, expect, test } from 'vitest';
import { Gate, calm, rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Executor } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import type { Registered } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;

beforeEach(() => {
  leader = new FakeLeader();
});

const more: Executor = { name: 'more', run: () => 'more' };
const evenMore: Executor = { name: 'moreYet', run: () => 'more yet' };
const ACCEPTED: Registered = { sessionTtlMs: 20_000, heartbeatMs: 3_000 };

function offers(): readonly string[] {
  return leader.registered.map(
    ({ sessionId, executors }) =>
      `${sessionId} ${executors.filter((name) => /more/.test(name)).join()}`,
  );
}

function refused(code: MillraceError['code']): MillraceError {
  return new MillraceError({ code, what: `${code}.` });
}

test('an executor that is added is registered under the same session, and nothing is lost', async () => {
  const gate = new Gate('gate');
  const { worker, clock } = rig({ leader, tasks: [gate] });
  await worker.start();
  leader.give(assignment(1, 'gate'));
  await calm();
  await worker.offer([more, more], 'the test');
  expect(offers()).toEqual(['s1 ', 's1 more']);
  leader.give(assignment(2, 'more'));
  await calm();
  gate.calls[0]!.end.resolve(1);
  await calm();
  expect(leader.reported).toEqual(['started 1', 'completed 2', 'completed 1']);
  await clock.advance(3_000);
  expect(leader.beats.at(-1)!.executors).toEqual(leader.registered.at(-1)!.executors);
});

test('a registered executor is not registered again; another one of its name is refused', async () => {
  const { worker } = rig({ leader, tasks: [more] });
  await worker.start();
  await worker.offer([more], 'the test');
  expect(offers()).toEqual(['s1 more']);
  await expect(worker.offer([{ ...more }], 'another file')).rejects.toThrow(
    'another file defines the task more, and so does the test.',
  );
});

test('before its start a worker only stores it', async () => {
  const { worker } = rig({ leader });
  await worker.offer([more], 'the test');
  expect(offers()).toEqual([]);
  await worker.start();
  expect(offers()).toEqual(['s1 more']);
});

test('concurrent additions reach the leader one after the other', async () => {
  const { worker } = rig({ leader });
  await worker.start();
  const answer = deferred<Registered>();
  leader.onRegister = () => answer.promise;
  const both = Promise.all([worker.offer([more], 'a'), worker.offer([evenMore], 'b')]);
  await calm();
  expect(offers()).toEqual(['s1 ', 's1 more']);
  answer.resolve(ACCEPTED);
  await both;
  expect(offers()).toEqual(['s1 ', 's1 more', 's1 more,moreYet']);
});

test('one that is added while the worker registers is announced after that', async () => {
  const { worker, clock } = rig({ leader });
  const answer = deferred<Registered>();
  leader.onRegister = () => answer.promise;
  const started = worker.start();
  await calm();
  const offered = worker.offer([more], 'the test');
  answer.resolve(ACCEPTED);
  await Promise.all([started, offered]);
  expect(offers()).toEqual(['s1 ', 's1 more']);
  await clock.advance(3_000);
  expect(leader.beats.at(-1)!.executors).toContain('more');
});

test('an unanswered registration is repeated, and a new session registers everything', async () => {
  const { worker, clock } = rig({ leader });
  await worker.start();
  leader.onRegister = () => Promise.reject(refused('unreachable'));
  const offered = worker.offer([more], 'the test');
  await clock.advance(150);
  expect(offers()).toEqual(['s1 ', 's1 more', 's1 more']);
  leader.onRegister = () => Promise.reject(refused('superseded'));
  await clock.advance(100);
  leader.onRegister = () => Promise.resolve(ACCEPTED);
  leader.refusePoll(refused('superseded'));
  await clock.advance(1_000);
  await offered;
  expect(offers().at(-1)).toBe('s2 more');
});

test('a list that the leader refuses for good is rejected, and a stopping worker sends no more', async () => {
  const { worker, clock } = rig({ leader });
  await worker.start();
  leader.onRegister = () => Promise.reject(refused('bad_input'));
  await expect(worker.offer([more], 'the test')).rejects.toThrow('bad_input.');
  leader.onRegister = () => Promise.reject(refused('unreachable'));
  const offered = worker.offer([evenMore], 'the test');
  await calm();
  const stopped = worker.stop();
  await clock.advance(1_000);
  await Promise.all([offered, stopped]);
});

test('a worker whose name is in use gives up after a warning', async () => {
  const { worker, clock } = rig({ leader });
  leader.onRegister = () => Promise.reject(refused('name_taken'));
  const started = worker.start().catch((error: unknown) => error);
  await clock.advance(60_000);
  expect(await started).toMatchObject({ code: 'name_taken' });
});

test('the reason for a refused registration is logged when it changes, and periodically', async () => {
  const { worker, clock, lines } = rig({ leader });
  leader.onRegister = () => Promise.reject(refused('conflict'));
  const started = worker.start();
  await clock.advance(29_000);
  const saidIn = (): number => lines.filter((line) => line.includes('No leader has')).length;
  expect(saidIn()).toBe(1);
  await clock.advance(3_000);
  expect(saidIn()).toBe(2);
  leader.onRegister = () => Promise.reject(refused('unreachable'));
  await clock.advance(3_000);
  expect(saidIn()).toBe(3);
  leader.onRegister = () => Promise.resolve(ACCEPTED);
  await clock.advance(3_000);
  await started;
});

test('a worker whose name is free again soon registers', async () => {
  const { worker, clock } = rig({ leader });
  leader.onRegister = () => Promise.reject(refused('name_taken'));
  const started = worker.start();
  await clock.advance(20_000);
  leader.onRegister = () => Promise.reject(refused('conflict'));
  await clock.advance(60_000);
  leader.onRegister = () => Promise.resolve(ACCEPTED);
  await clock.advance(2_000);
  await started;
  expect(worker.running).toBe(true);
});

test('a shortage is reported under the same session, and withdrawn', async () => {
  let short = {};
  const { worker } = rig({ leader, passing: () => short });
  await worker.start();
  await worker.reoffer();
  short = { pressure: 'disk' };
  await worker.reoffer();
  short = {};
  await worker.reoffer();
  expect(leader.registered.map(({ capabilities: { pressure } }) => pressure)).toEqual([
    undefined,
    'disk',
    undefined,
  ]);
});
