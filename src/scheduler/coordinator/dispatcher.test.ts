import { beforeEach, describe, expect, test } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { ErrorCode } from '../core/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import type { Gate } from '../../../test/rig/gated-store.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };
const fault = (code: ErrorCode): MillraceError =>
  new MillraceError({ code, what: `it is ${code}` });

let clock: VirtualClock;
let gate: Gate;
let led: Led;

beforeEach(async () => {
  clock = new VirtualClock();
  gate = gated(memoryStore(clock));
  led = await lead(gate.store, clock);
  await led.leader.loaded;
  gate.commits.length = 0;
});

/** Whether a promise has settled without time passing. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => (done = true),
    () => (done = true),
  );
  await settled();
  return done;
}

function submit(name: string, document: object = ECHO): Promise<unknown> {
  return led.leader.jobs.submit({ name, ...document }, { jobId: jobId(name), isFresh: true });
}

describe('group commit', () => {
  test('no reply leaves before its transaction is committed', async () => {
    gate.hold();
    const reply = submit('one');
    expect(await isSettled(reply)).toBe(false);
    expect(await gate.store.jobRow(0, jobId('one'))).toBeNull();
    gate.release();
    await reply;
    expect((await gate.store.jobRow(0, jobId('one')))?.state).toBe('queued');
  });

  test('what arrives while a commit is in flight shares the next one', async () => {
    gate.hold();
    const first = submit('first');
    await settled();
    const others = Array.from({ length: 100 }, (_, at) => submit(`other-${at}`));
    await settled();
    gate.release();
    await Promise.all([first, ...others]);
    expect(gate.commits.map((batch) => batch.jobInserts.length)).toEqual([1, 100]);
  });

  test('what arrives in the same turn of the event loop shares one commit', async () => {
    await Promise.all([submit('a'), submit('b'), submit('c')]);
    expect(gate.commits).toHaveLength(1);
  });

  test('a row that changes several times in a batch is written once, as it is at the end', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const polled = worker.poll(5);
    await settled();
    gate.commits.length = 0;
    await submit('one');
    expect((await polled).map(({ taskId }) => taskId)).toEqual(['a']);
    const [batch] = gate.commits;
    expect(gate.commits).toHaveLength(1);
    expect(batch?.taskUpdates).toEqual([]);
    expect(batch?.taskInserts.map((row) => row.state)).toEqual(['running']);
  });

  test('a read waits for the commit that it was computed from', async () => {
    gate.hold();
    const reply = submit('one');
    await settled();
    const explained = led.leader.jobs.explain(jobId('one'), 'a' as never);
    expect(await isSettled(explained)).toBe(false);
    gate.release();
    await reply;
    expect((await explained)?.code).toBe('no_node_fits');
  });

  test('a heartbeat of an idle cluster writes nothing', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const before = gate.commits.length;
    await worker.beat();
    await worker.beat();
    expect(gate.commits).toHaveLength(before);
  });
});

describe('doubt', () => {
  test('a commit whose answer is lost is treated as unknown, and the repeated call finds the job', async () => {
    gate.failNext(fault('outcome_unknown'), true);
    await expect(submit('one')).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect((await led.ended).code).toBe('outcome_unknown');
    await expect(submit('two')).rejects.toMatchObject({ code: 'outcome_unknown' });

    await gate.store.resign(led.leader.term);
    const next = await lead(gate.store, clock);
    const options = { jobId: jobId('one') };
    const repeated = await next.leader.jobs.submit({ name: 'one', ...ECHO }, options);
    expect(repeated).toMatchObject({ jobId: 'one', changed: false });
    expect(await gate.store.jobs(0, { limit: 10 })).toHaveLength(1);
  });

  test('a leader whose epoch is gone steps down and changes nothing', async () => {
    await gate.store.resign(led.leader.term);
    await lead(gate.store, clock);
    await expect(submit('one')).rejects.toMatchObject({ code: 'deposed' });
    expect((await led.ended).code).toBe('deposed');
    expect(await gate.store.jobRow(0, jobId('one'))).toBeNull();
  });

  test('an unreachable store ends the leader term, and a queued caller gets an error as well', async () => {
    gate.hold();
    const first = submit('first');
    await settled();
    const second = submit('second');
    gate.cutOff(fault('store_unavailable'));
    gate.release();
    await expect(first).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(second).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('a parked poll is answered when the leader term ends', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const polled = worker.poll(1);
    await settled();
    await led.leader.end(fault('shutting_down'));
    await expect(polled).rejects.toMatchObject({ code: 'shutting_down' });
  });

  test('what was committed is answered even if the leader term was ended meanwhile', async () => {
    gate.hold();
    const reply = submit('one');
    await settled();
    const end = led.leader.end(fault('shutting_down'));
    expect(await isSettled(end)).toBe(false);
    gate.release();
    await end;
    await expect(reply).resolves.toMatchObject({ jobId: 'one' });
  });

  test('a leader that could not renew in time does not even answer a heartbeat', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    gate.cutOff(fault('store_unavailable'));
    await clock.jump(9_500);
    await expect(worker.beat()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('an idle leader renews its term', async () => {
    for (let round = 0; round < 20; round += 1) await clock.advance(1_000);
    expect((await gate.store.leader(0))?.epoch).toBe(led.leader.term.epoch);
    await expect(submit('one')).resolves.toMatchObject({ jobId: 'one' });
  });
});

describe('bad events', () => {
  const poison = (): void => {
    gate.refuseIf(({ jobInserts }) =>
      jobInserts.some(({ name }) => name === 'poison') ? fault('bad_row') : null,
    );
  };

  test('one bad row does not sink a batch: only its own caller is refused', async () => {
    poison();
    const replies = ['a', 'poison', 'b', 'c'].map((name) => submit(name));
    const outcomes = await Promise.allSettled(replies);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    await expect(replies[1]).rejects.toMatchObject({ code: 'bad_input' });
    const stored = await gate.store.jobs(0, { limit: 10 });
    expect(stored.map(({ name }) => name).toSorted()).toEqual(['a', 'b', 'c']);
    const events = await gate.store.events(0, 0, 100);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  });

  test('after a bad row the leader goes on, also for those who came meanwhile', async () => {
    poison();
    gate.hold();
    const bad = submit('poison');
    await settled();
    const queued = submit('queued');
    await settled();
    gate.release();
    await expect(bad).rejects.toMatchObject({ code: 'bad_input' });
    await queued;
    await submit('later');
    expect(await gate.store.jobs(0, { limit: 10 })).toHaveLength(2);
  });

  test('a parked poll is asked to come again when the memory is dropped', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const polled = worker.poll(1);
    await settled();
    poison();
    await expect(submit('poison')).rejects.toMatchObject({ code: 'bad_input' });
    await expect(polled).rejects.toMatchObject({ code: 'loading' });
    const again = worker.poll(1);
    await submit('good');
    expect(await again).toHaveLength(1);
  });

  test('a fault in a timer is not blamed on a caller: it ends the leader term', async () => {
    await ScriptedWorker.join(led.leader, 'w', ['echo']);
    gate.refuseIf(({ nodeUpserts }) =>
      nodeUpserts.some(({ status }) => status === 'stale') ? fault('bad_row') : null,
    );
    await clock.advance(19_000);
    gate.hold();
    const first = submit('first');
    await clock.advance(2_000);
    const second = submit('second');
    await settled();
    gate.release();
    await Promise.all([first, second]);
    // After recovery the session has a full TTL again; then its timer is all there is in the batch.
    await clock.advance(25_000);
    expect((await led.ended).code).toBe('bad_row');
    expect(await gate.store.jobs(0, { limit: 10 })).toHaveLength(2);
  });

  test('leases survive the isolation of a bad event', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('good');
    const [assignment] = await worker.poll(1);
    poison();
    await expect(submit('poison')).rejects.toMatchObject({ code: 'bad_input' });
    const { verdicts } = await worker.complete(assignment!.lease, 1);
    expect(verdicts).toEqual(['ok']);
    expect((await gate.store.jobRow(0, jobId('good')))?.state).toBe('succeeded');
  });
});

test('callers get an error when not even the isolation of a bad event succeeds', async () => {
  gate.refuseIf(({ jobInserts }) => (jobInserts.length > 0 ? fault('bad_row') : null));
  gate.hold();
  const bad = submit('bad');
  await settled();
  const read = led.leader.jobs.explain(jobId('x'), 'a' as never);
  const later = led.leader.jobs.explain(jobId('y'), 'a' as never);
  await settled();
  gate.failReads(fault('store_unavailable'));
  gate.release();
  await expect(bad).rejects.toBeInstanceOf(MillraceError);
  await expect(read).rejects.toBeInstanceOf(MillraceError);
  await expect(later).rejects.toBeInstanceOf(MillraceError);
});

describe('back-pressure', () => {
  test('a slow store fills a bounded queue, then callers are refused, and sessions are still heard', async () => {
    const slow = gated(memoryStore(clock));
    const { leader } = await lead(slow.store, clock, { backlogMax: 10 });
    await leader.loaded;
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const submitMany = (prefix: string, count: number): Promise<unknown>[] =>
      Array.from({ length: count }, (_, at) =>
        leader.jobs.submit(ECHO, { jobId: jobId(`${prefix}${at}`), isFresh: true }),
      );
    slow.hold();
    const inFlight = submitMany('first', 1);
    await settled();
    const waiting = submitMany('waiting', 10);
    await settled();
    const outcomes = Promise.allSettled(submitMany('extra', 5));
    await settled();
    const beat = worker.beat();
    slow.release();
    await Promise.all([...inFlight, ...waiting, beat]);
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(5);
    for (const each of refused) {
      expect((each as PromiseRejectedResult).reason).toMatchObject({ code: 'overloaded' });
    }
  });

  test('readers neither crowd out submissions nor slow workers down', async () => {
    const slow = gated(memoryStore(clock));
    const { leader } = await lead(slow.store, clock, { backlogMax: 10 });
    await leader.loaded;
    slow.hold();
    const inFlight = leader.jobs.submit(ECHO, { jobId: jobId('first'), isFresh: true });
    await settled();
    const looks = Array.from({ length: 50 }, () =>
      leader.jobs.explain(jobId('first'), 'a' as never),
    );
    await settled();
    expect(leader.backlog).toBe(0);
    const more = leader.jobs.submit(ECHO, { jobId: jobId('more'), isFresh: true });
    await settled();
    expect(leader.backlog).toBe(1);
    slow.release();
    await Promise.all([inFlight, more, ...looks]);
    expect(leader.backlog).toBe(0);
  });

  test('events that are fed again one by one wait no more, those that come meanwhile do', async () => {
    gate.hold();
    const first = submit('first');
    await settled();
    const second = submit('second');
    await settled();
    expect(led.leader.backlog).toBe(1);
    gate.failNext(fault('bad_row'));
    gate.release();
    gate.hold();
    await settled();
    expect(led.leader.backlog).toBe(0);
    const third = submit('third');
    await settled();
    expect(led.leader.backlog).toBe(1);
    gate.release();
    await Promise.all([first, second, third]);
    expect(led.leader.backlog).toBe(0);
  });
});

describe('time', () => {
  test('after a pause of the leader, queued heartbeats are read before any session is expired', async () => {
    const heard = await ScriptedWorker.join(led.leader, 'heard', ['echo']);
    const silent = await ScriptedWorker.join(led.leader, 'silent', ['other']);
    await submit('one');
    await submit('two', { tasks: [{ id: 'a', executor: 'other' }] });
    await Promise.all([heard.poll(1), silent.poll(1)]);
    await clock.advance(14_000);
    // Both sessions end at 20 s. The process stops for longer than that; when it goes on its timers
    // ring first, and only then the heartbeat that was waiting in a socket is read.
    await clock.jump(6_500);
    await heard.beat();
    await clock.advance(4_000);
    const nodes = (await gate.store.loadCluster(0)).nodes;
    expect(nodes.map(({ id, status }) => [id, status])).toEqual([
      ['heard', 'healthy'],
      ['silent', 'stale'],
    ]);
  });

  test('a commit that took long does not end the sessions whose heartbeats waited for it', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    gate.hold();
    const slow = submit('slow');
    const beat = worker.beat();
    for (let round = 0; round < 25; round += 1) {
      void led.leader.jobs.explain(jobId('slow'), 'a' as never).catch(() => {});
      await clock.advance(1_000);
    }
    gate.release();
    await Promise.all([slow, beat]);
    await worker.beat();
    expect((await gate.store.loadCluster(0)).nodes.map(({ status }) => status)).toEqual([
      'healthy',
    ]);
  });

  test('a session without heartbeats expires, and its task goes to another node', async () => {
    const silent = await ScriptedWorker.join(led.leader, 'silent', ['echo']);
    const alive = await ScriptedWorker.join(led.leader, 'alive', ['echo']);
    await submit('one');
    const [lost] = await silent.poll(1);
    for (let round = 0; round < 9; round += 1) {
      await clock.advance(2_500);
      await alive.beat();
    }
    const [again] = await alive.poll(1);
    expect(again?.lease.fence).toBe(lost!.lease.fence + 1);
    expect(again?.attempt).toBe(2);
    await expect(silent.complete(lost!.lease)).rejects.toMatchObject({ code: 'superseded' });
  });
});
