import { expect, test } from 'vitest';
import {
  type Batch,
  jobNo,
  type JobRow,
  type SignalRow,
  taskNo,
  type TaskRow,
} from '../../../src/scheduler/core/index.ts';
import type { Bench } from './bench.ts';
import { shardContent, TTL_MS, type TestLeader } from './leader.ts';
import {
  AT,
  aJob,
  aKey,
  anEvent,
  aNode,
  aSchedule,
  aSignal,
  aSpec,
  aTask,
  jobId,
  running,
  sessionId,
  succeeded,
  taskId,
} from './rows.ts';

const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });

const taken = (signalNo: number, step: string) => ({ ...ref(1, 0), signalNo, run: 1, step });

/** Something of every kind, all of it good: none of it may stay when one row is bad. */
function goodBatch(leader: TestLeader): Batch {
  return leader.batch({
    archived: [ref(1, 1)],
    jobInserts: [aJob(2, { idempotencyKey: 'two' })],
    jobUpdates: [aJob(1, { run: 2 })],
    specInserts: [aSpec(2, 0)],
    taskInserts: [aTask(2, 0)],
    taskUpdates: [aTask(1, 1, { run: 2 })],
    results: [{ ...ref(1, 0), run: 9, body: '9' }],
    keyUpserts: [aKey('done', { state: 'completed', result: '8' }), aKey('new')],
    keyDeletes: [aKey('old').scope],
    copiedResults: [{ ...ref(1, 0), run: 8, scope: aKey('done').scope }],
    steps: [{ ...ref(1, 0), run: 1, name: 'second', body: '2' }],
    signalInserts: [aSignal(1, 2), aSignal(2, 0)],
    takenSignals: [taken(1, 'third'), taken(2, 'fourth')],
    nodeUpserts: [aNode('w-1', { draining: true }), aNode('w-3')],
    nodeDeletes: [aNode('w-2').id],
    scheduleUpserts: [aSchedule('s-1', { paused: true })],
    scheduleDeletes: [aSchedule('s-2').id],
    events: [{}, ref(2, 0)],
  });
}

async function prepare(leader: TestLeader): Promise<void> {
  await leader.commit({
    jobInserts: [aJob(1, { idempotencyKey: 'one' })],
    specInserts: [aSpec(1, 0), aSpec(1, 1)],
    taskInserts: [running(1, 0), succeeded(1, 1)],
    results: [{ ...ref(1, 1), run: 1, body: '1' }],
    keyUpserts: [aKey('old'), aKey('pending')],
    steps: [{ ...ref(1, 0), run: 1, name: 'first', body: '1' }],
    signalInserts: [aSignal(1, 0, { taken: true }), aSignal(1, 1)],
    nodeUpserts: [aNode('w-1'), aNode('w-2')],
    scheduleUpserts: [aSchedule('s-1'), aSchedule('s-2')],
    events: [{}, {}, {}],
  });
}

type Spoil = (batch: Batch) => Batch;

const taskUpdate =
  (task: TaskRow): Spoil =>
  (batch) => ({ ...batch, taskUpdates: [...batch.taskUpdates, task] });
const jobUpdate =
  (job: JobRow): Spoil =>
  (batch) => ({ ...batch, jobUpdates: [...batch.jobUpdates, job] });
const jobInsert =
  (job: JobRow): Spoil =>
  (batch) => ({ ...batch, jobInserts: [...batch.jobInserts, job], nextJobNo: jobNo(9) });
const newTask =
  (no: number, id: string, parts: Partial<TaskRow> = {}): Spoil =>
  (batch) => ({
    ...batch,
    specInserts: [...batch.specInserts, aSpec(2, no, { id: taskId(id) })],
    taskInserts: [...batch.taskInserts, aTask(2, no, parts)],
  });

const signal =
  (row: SignalRow): Spoil =>
  (batch) => ({ ...batch, signalInserts: [...batch.signalInserts, row] });
const takes =
  (signalNo: number): Spoil =>
  (batch) => ({ ...batch, takenSignals: [...batch.takenSignals, taken(signalNo, 'x')] });

const BAD: Readonly<Record<string, Spoil>> = {
  'a running task without a session': taskUpdate(running(1, 0, { sessionId: null })),
  'a new running task without a session': newTask(1, 'x', { state: 'running' }),
  'a waiting task with a session': taskUpdate(aTask(1, 0, { sessionId: sessionId('s') })),
  'an ended task without a time': taskUpdate(succeeded(1, 0, { finishedAt: null })),
  'a waiting task with an end': taskUpdate(aTask(1, 0, { finishedAt: AT })),
  'a delayed task without a time': taskUpdate(aTask(1, 0, { state: 'delayed' })),
  'a progress above one': taskUpdate(aTask(1, 0, { progress: 1.5 })),
  'a negative attempt': taskUpdate(aTask(1, 0, { attempt: -1 })),
  'an attempt that is not whole': taskUpdate(aTask(1, 0, { attempt: 1.5 })),
  'an update of an unknown task': taskUpdate(aTask(1, 7)),
  'an update of a task of an unknown job': taskUpdate(aTask(7, 0)),
  'an ended job without a time': jobUpdate(aJob(1, { state: 'failed' })),
  'a live job with an end': jobUpdate(aJob(1, { finishedAt: AT })),
  'a new ended job without a time': jobInsert(aJob(3, { state: 'failed' })),
  'a priority beyond the lowest': jobInsert(aJob(3, { priority: 4 as 3 })),
  'an update of an unknown job': jobUpdate(aJob(7)),
  'a job number that is taken': jobInsert(aJob(1, { id: jobId('other') })),
  'a job number that came twice': jobInsert(aJob(2, { id: jobId('other') })),
  'a job id that is taken': jobInsert(aJob(3, { id: jobId('job-1') })),
  'a job id that came twice': jobInsert(aJob(3, { id: jobId('job-2') })),
  'an idempotency key that is taken': jobInsert(aJob(3, { idempotencyKey: 'one' })),
  'an idempotency key that came twice': jobInsert(aJob(3, { idempotencyKey: 'two' })),
  'a job number that is not below the next': (batch) => ({ ...batch, nextJobNo: jobNo(2) }),
  'a next job number that goes back': (batch) => ({
    ...batch,
    jobInserts: [],
    specInserts: [],
    taskInserts: [],
    nextJobNo: jobNo(1),
  }),
  'a task number that came twice': newTask(0, 'x'),
  'a task id that came twice': newTask(1, 'task-0'),
  'a task number that is taken': (batch) => ({
    ...batch,
    specInserts: [aSpec(1, 0, { id: taskId('x') })],
    taskInserts: [aTask(1, 0)],
  }),
  'a task id that is taken': (batch) => ({
    ...batch,
    specInserts: [aSpec(1, 2, { id: taskId('task-0') })],
    taskInserts: [aTask(1, 2)],
  }),
  'an unknown task to archive': (batch) => ({ ...batch, archived: [...batch.archived, ref(1, 7)] }),
  'a second result of the same run': (batch) => ({
    ...batch,
    results: [...batch.results, { ...ref(1, 1), run: 1, body: '2' }],
  }),
  'a copy of a key that is pending': (batch) => ({
    ...batch,
    copiedResults: [{ ...ref(1, 0), run: 7, scope: aKey('pending').scope }],
  }),
  'a copy of an unknown key': (batch) => ({
    ...batch,
    copiedResults: [{ ...ref(1, 0), run: 7, scope: 'echo/unknown' }],
  }),
  'a pending key with a result': (batch) => ({
    ...batch,
    keyUpserts: [...batch.keyUpserts, aKey('bad', { result: '1' })],
  }),
  'a signal number that is taken': signal(aSignal(1, 1, { id: 'x' })),
  'a signal number that came twice': signal(aSignal(1, 2, { id: 'x' })),
  'a signal id that is taken': signal(aSignal(1, 3, { id: 'signal-1' })),
  'a signal id that came twice': signal(aSignal(1, 3, { id: 'signal-2' })),
  'a signal of an unknown job': signal(aSignal(7, 0)),
  'NUL in a signal': signal(aSignal(1, 3, { body: '"\0"' })),
  'half a surrogate pair in the name of a signal': signal(aSignal(1, 3, { name: 'a\ud800b' })),
  'a signal number that is not whole': signal(aSignal(1, 1.5)),
  'a signal that was taken before': takes(0),
  'a signal that is taken twice': takes(1),
  'an unknown signal to take': takes(7),
  'a gap in the event numbers': (batch) => ({
    ...batch,
    events: [...batch.events, anEvent(batch.lastSeq + 2)],
    lastSeq: batch.lastSeq + 2,
  }),
  'an event number that is taken': (batch) => ({
    ...batch,
    events: [anEvent(batch.lastSeq - 2), ...batch.events],
  }),
  'a last number without its event': (batch) => ({ ...batch, lastSeq: batch.lastSeq + 1 }),
  'NUL in a name': jobInsert(aJob(3, { name: 'a\0b' })),
  'half a surrogate pair in a name': jobInsert(aJob(3, { name: 'a\ud800b' })),
  'NUL in an error message': taskUpdate(
    aTask(1, 0, { error: { code: 'x', message: 'binary: \0' } }),
  ),
  'NUL in a result': (batch) => ({
    ...batch,
    results: [...batch.results, { ...ref(1, 0), run: 3, body: '"\0"' }],
  }),
};

export function refusalTests({ store, newLeader }: Bench): void {
  for (const [what, spoil] of Object.entries(BAD)) {
    test(`because of ${what} leaves nothing behind`, async () => {
      const leader = await newLeader();
      await prepare(leader);
      const before = await shardContent(store(), leader.shard);
      const bad = spoil(goodBatch(leader));
      await expect(store().commit(leader.term, TTL_MS, bad)).rejects.toMatchObject({
        code: 'bad_row',
      });
      expect(await shardContent(store(), leader.shard)).toEqual(before);
      const scopes = ['done', 'new', 'old', 'pending'].map((key) => aKey(key).scope);
      expect(await store().keys(leader.shard, scopes)).toHaveLength(2);
    });
  }

  test('does not stand in the way of the good rows when they come again', async () => {
    const leader = await newLeader();
    await prepare(leader);
    const good = goodBatch(leader);
    const bad = taskUpdate(aTask(1, 7))(good);
    await expect(store().commit(leader.term, TTL_MS, bad)).rejects.toMatchObject({
      code: 'bad_row',
    });
    await store().commit(leader.term, TTL_MS, good);
    expect(await store().job(leader.shard, jobId('job-2'))).toMatchObject({ job: { no: 2 } });
  });
}
