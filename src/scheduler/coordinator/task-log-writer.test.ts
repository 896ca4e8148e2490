import { expect, test } from 'vitest';
import type { JobId, JobRow, NodeId, SessionId, TaskId } from '../core/index.ts';
import type { TaskLogLine } from '../contract/index.ts';
import type { LogRow } from '../store/index.ts';
import { deferred, settled } from '../../kit/index.ts';
import { TaskLogWriter } from './task-log-writer.ts';

const JOB = 'j' as JobId;
const SESSION = { nodeId: 'w' as NodeId, sessionId: 's' as SessionId };

const line = (message: string, given: Partial<TaskLogLine> = {}): TaskLogLine => ({
  jobId: JOB,
  taskId: 't' as TaskId,
  attempt: 1,
  at: 1_000,
  level: 'info',
  message,
  fields: null,
  ...given,
});

class Scene {
  readonly appends: (readonly LogRow[])[] = [];
  readonly live: Set<JobId> = new Set([JOB]);
  readonly stored: Set<JobId> = new Set();
  held = false;
  fails = false;
  readonly gate = deferred();
  readonly writer: TaskLogWriter;

  constructor(limits = { taskLogBytesMax: 10_000, jobLogBytesMax: 20_000 }) {
    const append = async (_shard: number, rows: readonly LogRow[]): Promise<void> => {
      this.appends.push(rows);
      if (this.held) await this.gate.promise;
      if (this.fails) throw new Error('the store is away');
    };
    this.writer = new TaskLogWriter({
      store: {
        taskLog: { append, read: async () => [], prune: async () => false, remove: async () => {} },
        jobRow: async (_shard, id) => (this.stored.has(id) ? ({ id } as JobRow) : null),
      },
      shard: 0,
      settings: limits,
      hasSession: ({ sessionId }) => sessionId === SESSION.sessionId,
      isLive: (id) => this.live.has(id),
    });
  }

  get messages(): string[] {
    return this.appends.flat().map(({ message }) => message);
  }
}

test('lines that come while one append is under way are appended together', async () => {
  const scene = new Scene();
  scene.held = true;
  const first = scene.writer.write(SESSION, [line('a')]);
  const rest = ['b', 'c', 'd'].map((text) => scene.writer.write(SESSION, [line(text)]));
  await settled();
  expect(scene.appends).toHaveLength(1);
  scene.gate.resolve();
  await Promise.all([first, ...rest]);
  expect(scene.appends.map((rows) => rows.map(({ message }) => message))).toEqual([
    ['a'],
    ['b', 'c', 'd'],
  ]);
});

test('a worker learns that its lines were not stored', async () => {
  const scene = new Scene();
  scene.fails = true;
  await expect(scene.writer.write(SESSION, [line('a')])).rejects.toThrow('the store is away');
  scene.fails = false;
  await scene.writer.write(SESSION, [line('a')]);
  expect(scene.messages).toEqual(['a', 'a']);
});

test('lines of a job that has left the memory are kept, those of an unknown job are not', async () => {
  const scene = new Scene();
  scene.live.clear();
  await scene.writer.write(SESSION, [line('unknown')]);
  scene.stored.add(JOB);
  await scene.writer.write(SESSION, [line('late'), line('not an id', { jobId: 'a/b' as JobId })]);
  expect(scene.messages).toEqual(['late']);
});

test('a task and a job keep so many bytes, and say once that there was more', async () => {
  const scene = new Scene({ taskLogBytesMax: 300, jobLogBytesMax: 600 });
  const write = (task: string): Promise<void> =>
    scene.writer.write(
      SESSION,
      Array.from({ length: 10 }, (_, no) => line(`${task}${no}`, { taskId: task as TaskId })),
    );
  for (const task of ['a', 'b', 'c', 'd']) await write(task);
  const kept = scene.messages.map((text) =>
    text.startsWith('The log of') ? text.slice(16, 20) : text,
  );
  expect(kept).toEqual([
    'a0',
    'a1',
    'a2',
    'a3',
    'task',
    'b0',
    'b1',
    'b2',
    'b3',
    'task',
    'c0',
    'job ',
  ]);
});

test('hostile lines are made fit for every store, or dropped', async () => {
  const scene = new Scene({ taskLogBytesMax: 1e9, jobLogBytesMax: 1e9 });
  await scene.writer.write(SESSION, [
    line('a\0b\uD800'),
    line('x'.repeat(100_000)),
    line('f', { fields: '{"a":"\\u0000","password":"hunter22"}' }),
    line('f', { fields: 'no json' }),
    line('f', { fields: '[1]' }),
    line('f', { fields: `{"a":"${'x'.repeat(50_000)}"}` }),
    line('bad', { level: 'fatal' as 'info' }),
    line('bad', { attempt: -1 }),
    line('bad', { at: Number.NaN }),
    line('bad', { taskId: 'a\0' as TaskId }),
  ]);
  const [nul, long, ...fields] = scene.appends.flat();
  expect(nul?.message).toBe('a\uFFFDb\uFFFD');
  expect(long?.message.length).toBeLessThan(9_000);
  expect(fields.map((row) => row.fields)).toEqual([
    '{"a":"\\ufffd","password":"[redacted]"}',
    null,
    null,
    '{"omitted":"the fields are too large"}',
  ]);
});

test('only a session that the leader knows may write', async () => {
  const scene = new Scene();
  const stranger = { ...SESSION, sessionId: 'another' as SessionId };
  await expect(scene.writer.write(stranger, [line('a')])).rejects.toMatchObject({
    code: 'unknown_session',
  });
  expect(scene.appends).toEqual([]);
});
