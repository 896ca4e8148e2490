import { beforeEach, describe, expect, test, vi } from 'vitest';
import { jobNo, taskNo } from '../core/index.ts';
import type { Json, TaskId, TaskRef, TaskRow } from '../core/index.ts';
import type { WorkerSuspension } from '../contract/index.ts';
import { refKey } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { boundedText } from './bounded-json.ts';
import { PayloadCache } from './payload-cache.ts';
import { payloadFault } from './payload-checks.ts';
import { ResultReader } from './result-reader.ts';

const MIB = 1024 * 1024;
/** As large as a result may be. */
const LARGE = 'x'.repeat(4 * MIB - 2);
const task = (id: string, more: object = {}): object => ({ id, executor: 'echo', ...more });

describe('what is too large for a worker fails its task and nobody else', () => {
  let store: Store;
  let led: Led;
  let worker: ScriptedWorker;

  beforeEach(async () => {
    const clock = new VirtualClock();
    store = memoryStore(clock);
    led = await lead(store, clock);
    await led.leader.loaded;
    worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  });

  async function submit(name: string, ...tasks: object[]): Promise<void> {
    await led.leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
  }
  async function finishAll(count: number, result: unknown): Promise<void> {
    worker.held.length = 0;
    const all = await worker.pollNow(count);
    expect(all).toHaveLength(count);
    for (const { lease } of all) await worker.complete(lease, result);
    worker.held.length = 0;
  }
  const errorOf = async (job: string, id: string) =>
    (await store.task(0, jobId(job), id as TaskId))?.task.error;

  test('an input in which one result stands many times', async () => {
    const input = Array.from({ length: 20 }, () => ({ $from: 'a' }));
    await submit('one', task('a'), task('b', { dependsOn: ['a'], input }));
    await finishAll(1, LARGE);
    await submit('two', task('other'));
    const assignments = await worker.pollNow(5);
    expect(assignments.map(({ taskId }) => taskId)).toEqual(['other']);
    expect(await errorOf('one', 'b')).toMatchObject({
      code: 'too_large',
      message: expect.stringMatching(/^Its input.* over 64 MiB\. .*pass their location/) as string,
    });
  });

  test('an input of many large results', async () => {
    const ids = Array.from({ length: 17 }, (_, at) => `a${at}`);
    const input = ids.map((id) => ({ $from: id }));
    await submit('one', ...ids.map((id) => task(id)), task('b', { dependsOn: ids, input }));
    await finishAll(17, LARGE);
    expect(await worker.pollNow(5)).toEqual([]);
    expect((await errorOf('one', 'b'))?.message).toMatch(/^The results that its input takes/);
  });

  test('an input just within the limit goes out', async () => {
    const input = Array.from({ length: 15 }, () => ({ $from: 'a' }));
    await submit('one', task('a'), task('b', { dependsOn: ['a'], input }));
    await finishAll(1, LARGE);
    const [b] = await worker.pollNow(5);
    expect(b?.input.length).toBe(15 * 4 * MIB + 16);
  });

  test('outcomes of children, and the result of a called job', async () => {
    const children = Array.from({ length: 17 }, (_, at) => task(`c${at}`));
    const call = { step: '$job/c', jobId: jobId('two.c'), document: { tasks: children } };
    const untils: WorkerSuspension[] = [
      { type: 'children', tasks: children },
      { type: 'wait', sleeps: [], signals: [], jobs: [call] },
    ];
    for (const [at, until] of untils.entries()) {
      const name = ['one', 'two'][at] ?? '';
      await submit(name, task('p'));
      worker.held.length = 0;
      const [p] = await worker.pollNow(1);
      await led.leader.workers.report(worker.session, [
        { kind: 'suspended', lease: p!.lease, until },
      ]);
      await finishAll(17, LARGE);
      expect(await worker.pollNow(5)).toEqual([]);
      expect(await errorOf(name, 'p')).toMatchObject({ code: 'too_large' });
    }
    expect((await errorOf('one', 'p'))?.message).toMatch(/^The results of its children/);
    expect((await errorOf('two', 'p'))?.message).toMatch(/^The result of the called job two.c/);
  });
});

describe('results are read', () => {
  const refs = (count: number): TaskRef[] =>
    Array.from({ length: count }, (_, at) => ({ jobNo: jobNo(1), taskNo: taskNo(at) }));

  function readerOf(length: number): { reader: ResultReader; reads: number[] } {
    const reads: number[] = [];
    const store = {
      results: vi.fn<Store['results']>((_shard, wanted) => {
        reads.push(wanted.length);
        return Promise.resolve(
          new Map(wanted.map((ref) => [refKey(ref.jobNo, ref.taskNo), 'x'.repeat(length)])),
        );
      }),
      taskRows: vi.fn<Store['taskRows']>((_shard, wanted) => {
        const row = { state: 'succeeded', error: null } as TaskRow;
        return Promise.resolve(new Map(wanted.map((ref) => [refKey(ref.jobNo, ref.taskNo), row])));
      }),
    } as Partial<Store> as Store;
    return { reader: new ResultReader(store, 0, new PayloadCache().results), reads };
  }

  test('all at once when they are few', async () => {
    const { reader, reads } = readerOf(10);
    reader.plan(refs(60));
    for (const ref of refs(60)) expect(await reader.read([ref], 100)).toHaveProperty('size', 1);
    expect(reads).toEqual([60]);
  });

  test('in few portions when they are many and small', async () => {
    const { reader, reads } = readerOf(10);
    reader.plan(refs(20_000));
    expect((await reader.read(refs(20_000), MIB))?.size).toBe(20_000);
    expect(reads.length).toBeLessThan(8);
  });

  test('in small portions, and not to the end, when they are large', async () => {
    const { reader, reads } = readerOf(MIB);
    reader.plan(refs(20_000));
    expect(await reader.read(refs(20_000), 100 * MIB)).toBeNull();
    expect(reads.reduce((sum, each) => sum + each)).toBeLessThan(120);
    // What was too much for one task is nothing to those after it.
    const other = { jobNo: jobNo(2), taskNo: taskNo(0) };
    reader.plan([other]);
    expect((await reader.read([other], 2 * MIB))?.size).toBe(1);
    expect(reads.at(-1)).toBe(1);
  });
});

describe('JSON of a bounded size', () => {
  const values: Json[] = [
    null,
    true,
    -1.5e300,
    'é"\n\u0001\uD83D\uDE00',
    [],
    {},
    [1, [2, [3]], {}],
    { 'k"é': { a: [null, false] }, b: '' },
  ];

  test.each(values)('%j is written if it fits to the byte, and not if it does not', (value) => {
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    expect(boundedText(value, Infinity, bytes)).toBe(text);
    expect(boundedText(value, Infinity, bytes - 1)).toBeNull();
  });

  test('is refused without being made', () => {
    const wide = Array.from({ length: 1_000 }, () => 'x'.repeat(1_000));
    const wider = Array.from({ length: 1_000 }, () => wide);
    const widest: Json = Array.from({ length: 1_000 }, () => wider);
    expect(boundedText(widest, Infinity, MIB)).toBeNull();
  });
});

test('depth is counted in lists and objects, not in text', () => {
  const deep = (levels: number): string =>
    '[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2);
  expect(payloadFault(deep(1_000), MIB)).toBeNull();
  expect(payloadFault(deep(1_002), MIB)).toMatch(/nested deeper/);
  expect(payloadFault(JSON.stringify(`\\"${'['.repeat(5_000)}`), MIB)).toBeNull();
  expect(payloadFault(JSON.stringify(Array.from({ length: 2_000 }, () => [])), MIB)).toBeNull();
});
