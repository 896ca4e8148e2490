/** A refused commit is a fault of ours. It must be heard, and cost as little as it can. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Effects, MillraceError } from '../core/index.ts';
import type { ScheduleId } from '../core/index.ts';
import { gated } from '../../../test/rig/gated-store.ts';
import type { Gate } from '../../../test/rig/gated-store.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';

let clock: VirtualClock;
let gate: Gate;
let led: Led;
let faults: MillraceError[];

const TASKS = { tasks: [{ id: 'a', executor: 'echo' }] };
const submit = (name: string): Promise<unknown> =>
  led.leader.jobs.submit({ name, ...TASKS }, { jobId: jobId(name), isFresh: true });

beforeEach(async () => {
  clock = new VirtualClock();
  gate = gated(memoryStore(clock));
  faults = [];
  led = await lead(gate.store, clock, { onFault: (fault) => faults.push(fault) });
  await led.leader.loaded;
});

describe('a batch that the store refuses for its data', () => {
  beforeEach(() => {
    gate.refuseIf(({ jobInserts }) =>
      jobInserts.some(({ name }) => name === 'poison')
        ? new MillraceError({ code: 'bad_row', what: 'A row is bad.' })
        : null,
    );
  });

  test('is reported as a fault and counted', async () => {
    await expect(submit('poison')).rejects.toMatchObject({ code: 'bad_input' });
    expect(faults.map(({ what }) => what)).toEqual(['A row is bad.']);
    expect(led.leader.figures().reloads).toBeGreaterThan(0);
  });

  test('refuses only the offender of a list', async () => {
    const list = ['one', 'poison', 'three'].map((name) => ({
      document: { name, ...TASKS },
      jobId: jobId(name),
    }));
    const replies = await led.leader.jobs.submitAll(list);
    const codes = replies.map((reply) => (reply instanceof MillraceError ? reply.code : 'ok'));
    expect(codes).toEqual(['ok', 'bad_input', 'ok']);
    // Jobs that wait are read behind.
    await settled();
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const ran = (await worker.pollNow(10)).map(({ jobId: id }) => id);
    expect(ran.toSorted()).toEqual(['one', 'three']);
  });

  test('does not keep callers waiting for the jobs that wait: they are read afterwards', async () => {
    await Promise.all(['one', 'two', 'three'].map(submit));
    const reads = gate.holdLoads();
    await expect(submit('poison')).rejects.toMatchObject({ code: 'bad_input' });
    // None of the waiting jobs has been read, and the leader serves.
    await submit('four');
    expect(reads.waiting).toBeGreaterThan(0);
    reads.release();
    await settled();
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const ran = (await worker.pollNow(10)).map(({ jobId: id }) => id);
    expect(ran.toSorted()).toEqual(['four', 'one', 'three', 'two']);
  });
});

test('schedules wait for the jobs that are reloaded after a fault', async () => {
  await led.leader.schedules.put('s' as ScheduleId, {
    timing: { everyMs: 1_000 },
    document: TASKS,
  });
  await submit('waiting');
  const reads = gate.holdLoads();
  gate.failNext(new MillraceError({ code: 'bad_row', what: 'A row is bad.' }));
  await submit('one');
  await clock.advance(1_500);
  expect(await gate.store.jobs(0, { limit: 10 })).toHaveLength(2);
  reads.release();
  await clock.advance(1_000);
  expect((await gate.store.jobs(0, { limit: 10 })).length).toBeGreaterThan(2);
});

test('the id of a scheduled job cannot be taken by a client', async () => {
  // Two jobs more, and the schedule would give out the third number.
  const taken = submit('s@5.3');
  await expect(taken).rejects.toMatchObject({ code: 'bad_input' });
  await Promise.all(['one', 'two'].map(submit));
  await led.leader.schedules.put('s' as ScheduleId, { timing: { at: 5 }, document: TASKS });
  await clock.advance(1_000);
  expect((await gate.store.jobRow(0, jobId('s@5.3')))?.scheduleId).toBe('s');
});

test('the id of a job that has ended may come again, and changes nothing', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await submit('one');
  const [assignment] = await worker.poll(1);
  await worker.complete(assignment!.lease, 1);
  const again = led.leader.jobs.submit(TASKS, { jobId: jobId('one') });
  expect(await again).toMatchObject({ state: 'succeeded', changed: false });
  expect(led.leader.figures().reloads).toBe(0);
});

describe('a batch that breaks an invariant of the core', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('never reaches the store: the state is loaded again, and other callers are served', async () => {
    await submit('before');
    vi.spyOn(Effects.prototype, 'check').mockImplementation(function (this: Effects, counters) {
      const rows = this.batch({ ...counters, commitNo: 0 });
      if (rows.jobInserts.some(({ name }) => name === 'poison')) {
        throw new MillraceError({ code: 'invariant', what: 'A result stands alone.' });
      }
    });
    const [poison, good] = await Promise.allSettled([submit('poison'), submit('good')]);
    expect(poison).toMatchObject({ status: 'rejected', reason: { code: 'invariant' } });
    expect(good).toMatchObject({ status: 'fulfilled' });
    expect(faults.map(({ what }) => what)).toEqual(['A result stands alone.']);
    expect(await gate.store.jobRow(0, jobId('poison'))).toBeNull();
    expect(led.leader.figures().reloads).toBeGreaterThan(0);
    const stored = gate.commits.flatMap(({ jobInserts }) => jobInserts.map(({ name }) => name));
    expect(stored).toEqual(['before', 'good']);
  });
});

test('a term that ends while a list is fed job by job leaves each its own answer', async () => {
  const bad = new MillraceError({ code: 'bad_row', what: 'A row is bad.' });
  const away = new MillraceError({ code: 'store_unavailable', what: 'It is away.' });
  gate.refuseIf(({ jobInserts }) => {
    if (jobInserts.length > 1) return bad;
    return jobInserts.some(({ name }) => name === 'two') ? away : null;
  });
  const list = ['one', 'two', 'three'].map((name) => ({
    document: { name, ...TASKS },
    jobId: jobId(name),
  }));
  const replies = await led.leader.jobs.submitAll(list);
  const codes = replies.map((reply) => (reply instanceof MillraceError ? reply.code : 'ok'));
  expect(await gate.store.jobRow(0, jobId('one'))).not.toBeNull();
  expect(codes).toEqual(['ok', 'store_unavailable', 'store_unavailable']);
});
