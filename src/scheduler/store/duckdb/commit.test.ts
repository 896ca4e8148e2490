/** What the conformance suite cannot see: the way of large batches, and faults of the database. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Batch, jobNo, taskNo } from '../../core/index.ts';
import { shardContent, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { contentOf } from '../../../../test/rig/conformance/moving.ts';
import {
  aJob,
  aKey,
  anEvent,
  aSpec,
  aTask,
  jobId,
  running,
  succeeded,
  taskId,
} from '../../../../test/rig/conformance/rows.ts';
import type { Store } from '../store.ts';
import { openDuckdbStore } from './duckdb.ts';
import { openFile } from './file.ts';
import { migrationsIn } from './ledger.ts';
import { insertRows } from './rows.ts';
import { Session } from './session.ts';
import { HISTORY, TASK } from './tables.ts';

const MANY = 100;
const numbers = Array.from({ length: MANY }, (_, no) => no);
const ref = (no: number) => ({ jobNo: jobNo(1), taskNo: taskNo(no) });

let store: Store;
let leader: TestLeader;
beforeEach(async () => {
  store = await openDuckdbStore({ path: ':memory:', foldAfterMs: 3_600_000 });
  leader = await TestLeader.of(store, 0);
  await leader.commit({
    jobInserts: [aJob(1)],
    specInserts: numbers.map((no) => aSpec(1, no)),
    taskInserts: numbers.map((no) => succeeded(1, no)),
    results: [{ ...ref(7), run: 1, body: '1' }],
    steps: [{ ...ref(7), run: 1, name: 's', body: '1' }],
  });
  await leader.commit({ archived: [ref(9)], taskUpdates: [aTask(1, 9, { run: 2 })] });
});
afterEach(async () => {
  await store.close();
});

/** Batches of a hundred rows in which the last one is wrong. */
const BAD: Readonly<Record<string, Partial<Batch>>> = {
  'an update of an unknown task': {
    taskUpdates: [...numbers.map((no) => running(1, no)), aTask(1, MANY)],
  },
  'an unknown task to archive': {
    archived: [...numbers.filter((no) => no !== 9).map(ref), ref(MANY)],
  },
  'a run that is archived already': { taskUpdates: [aTask(1, 9, { run: 1 })] },
  'a second result': {
    results: numbers.toReversed().map((no) => ({ ...ref(no), run: 1, body: '2' })),
  },
  'a result of an unknown task': {
    results: [...numbers, MANY].map((no) => ({ ...ref(no), run: 3, body: '2' })),
  },
  'a step of an unknown task': {
    steps: [...numbers, MANY].map((no) => ({ ...ref(no), run: 1, name: 'n', body: '' })),
  },
  'a task number that is taken': joining((no) => [no + MANY - 1, `new-${no}`]),
  'a task id that is taken': joining((no) => [no + MANY, no === 50 ? 'task-3' : `new-${no}`]),
  'tasks of an unknown job': {
    specInserts: numbers.map((no) => aSpec(5, no)),
    taskInserts: numbers.map((no) => aTask(5, no)),
  },
  'a task without a spec': {
    specInserts: numbers.map((no) => aSpec(1, MANY + no)),
    taskInserts: numbers.map((no) => aTask(1, MANY + no + 1)),
  },
  'an update of an unknown job': { jobUpdates: numbers.map((no) => aJob(no + 1)) },
};

function joining(name: (no: number) => [number, string]): Partial<Batch> {
  const named = numbers.map(name);
  return {
    specInserts: named.map(([no, id]) => aSpec(1, no, { id: taskId(id) })),
    taskInserts: named.map(([no]) => aTask(1, no)),
  };
}

describe('a large batch', () => {
  for (const [what, parts] of Object.entries(BAD)) {
    test(`with ${what} is refused whole, and the next one is taken`, async () => {
      const again = what === 'a run that is archived already';
      if (again) await leader.commit(parts);
      const bad = again ? { archived: numbers.map(ref) } : parts;
      const before = await contentOf(store);
      await expect(leader.commit(bad)).rejects.toMatchObject({ code: 'bad_row' });
      expect(await contentOf(store)).toEqual(before);
      await leader.commit({
        taskUpdates: numbers.map((no) => running(1, no)),
        steps: numbers.map((no) => ({ ...ref(no), run: 1, name: 's', body: '2' })),
      });
      expect(await store.steps(0, ref(7), 1)).toMatchObject([{ body: '1' }]);
      expect(await store.steps(0, ref(8), 1)).toMatchObject([{ body: '2' }]);
      expect((await store.loadBusyJobs(0))[0]?.tasks[99]).toEqual(running(1, 99));
    });
  }

  test('of keys replaces and deletes the right ones', async () => {
    const keys = numbers.map((no) => aKey(`k-${no}`, { state: 'completed', result: `${no}` }));
    await leader.commit({ keyUpserts: keys });
    const changed = keys.map((key) => ({ ...key, result: '"new"' }));
    await leader.commit({
      keyUpserts: changed.slice(0, 50),
      keyDeletes: keys.slice(90).map((key) => key.scope),
    });
    const stored = await store.keys(
      0,
      keys.map((key) => key.scope),
    );
    const expected = [...changed.slice(0, 50), ...keys.slice(50, 90)];
    const byScope = (a: { scope: string }, b: { scope: string }) => (a.scope < b.scope ? -1 : 1);
    expect(stored.toSorted(byScope)).toEqual(expected.toSorted(byScope));
  });
});

/** Puts `instead` in the place of statements that begin like this. */
function onStatement(
  beginning: string,
  instead: (go: () => Promise<number>) => Promise<number>,
): void {
  const run = Reflect.get(Session.prototype, 'run');
  vi.spyOn(Session.prototype, 'run').mockImplementation(async function intercept(
    this: Session,
    ...args: Parameters<Session['run']>
  ) {
    const go = (): Promise<number> => Reflect.apply(run, this, args);
    return args[0].startsWith(beginning) ? instead(go) : go();
  });
}

describe('a fold that fails', () => {
  const changes = {
    jobInserts: [aJob(2, { idempotencyKey: 'k' })],
    keyUpserts: [aKey('new')],
    events: [{}],
  };
  const stored = {
    lastSeq: 1,
    nextJobNo: 3,
    views: [{ job: { no: 2 } }, { job: { no: 1 } }],
  };

  for (const done of [true, false]) {
    test(`in its COMMIT is found out and done once (it was ${done ? '' : 'not '}stored)`, async () => {
      await contentOf(store);
      await leader.commit(changes);
      let failures = 0;
      onStatement('commit', async (go) => {
        failures += 1;
        vi.restoreAllMocks();
        if (done) await go();
        throw new Error('IO Error: No space left on device');
      });
      await expect(store.jobs(0, { limit: 9 })).rejects.toMatchObject({
        code: 'store_unavailable',
      });
      expect(failures).toBe(1);
      expect((await store.jobs(0, { limit: 9 })).map(({ no }) => no)).toEqual([2, 1]);
      expect(await shardContent(store, 0)).toMatchObject(stored);
      expect(await store.keys(0, [aKey('new').scope])).toHaveLength(1);
      await leader.commit({ jobUpdates: [aJob(2, { run: 2 })] });
      expect((await store.jobRow(0, jobId('job-2')))?.run).toBe(2);
    });
  }

  test('in a statement loses nothing that was acknowledged, and is tried again', async () => {
    await leader.commit(changes);
    onStatement('insert into event', async () => {
      throw new Error('Out of Memory Error: failed to allocate');
    });
    await expect(store.jobs(0, { limit: 9 })).rejects.toMatchObject({ code: 'store_unavailable' });
    // Commits go on, and what the leader asks for is known.
    await leader.commit({ jobUpdates: [aJob(2, { run: 2 })] });
    expect((await store.jobRow(0, jobId('job-2')))?.run).toBe(2);
    vi.restoreAllMocks();
    expect(await store.jobs(0, { limit: 9 })).toMatchObject([{ no: 2, run: 2 }, { no: 1 }]);
    expect(await shardContent(store, 0)).toMatchObject(stored);
  });
});

describe('the database itself', () => {
  test('finds rows that came after a statement was prepared, outside the range of then', async () => {
    const file = await openFile(':memory:');
    const { writer } = file;
    await migrationsIn(writer).up();
    const count = 'select count(*) from result where shard = 1';
    const join = 'select count(*) from result r, job j where r.job_no = j.no';
    await writer.script(`insert into result values (0, 1, 0, 1, '1')`);
    expect([await writer.rows(count), await writer.rows(join)]).toEqual([[[0]], [[0]]]);
    await writer.script(`insert into result values (1, 900, 0, 1, '1')`);
    await writer.script(
      `insert into job (shard, no, id, id_hash, name, priority, on_failure, created_at, state, run, task_count, labels)
       values (1, 900, 'x', 1, 'x', 1, 'finish', 0, 'queued', 1, 0, [])`,
    );
    expect([await writer.rows(count), await writer.rows(join)]).toEqual([[[1]], [[1]]]);
    await file.close();
  });

  test('refuses rows that break an invariant, should a check before it ever miss one', async () => {
    const file = await openFile(':memory:');
    await migrationsIn(file.writer).up();
    const bad = [
      running(1, 0, { sessionId: null }),
      succeeded(1, 0, { finishedAt: null }),
      aTask(1, 0, { state: 'delayed' }),
      aTask(1, 0, { progress: 2 }),
      aTask(1, 0, { state: 'lost' as 'ready' }),
    ];
    for (const row of bad) {
      for (const rows of [[row], Array.from({ length: MANY }, () => row)]) {
        await expect(insertRows(file.writer, TASK, 0, rows)).rejects.toThrow(
          /CHECK constraint failed/,
        );
      }
    }
    await insertRows(file.writer, HISTORY, 0, [succeeded(1, 0)]);
    const stored = await file.writer.rows('select count(*) from task where shard = $1::integer', 0);
    expect(stored).toEqual([[0]]);
    await file.close();
  });

  test('keeps a commit whole in the eyes of readers', async () => {
    const watching = (async () => {
      for (let read = 0; read < 40; read += 1) {
        const view = await store.job(0, jobId('job-1'));
        const runs = new Set(
          view?.tasks.filter(({ spec }) => spec.taskNo !== 9).map(({ task }) => task.attempt),
        );
        expect(runs.size).toBe(1);
      }
    })();
    for (let attempt = 2; attempt < 30; attempt += 1) {
      const events = [anEvent(leader.lastSeq + 1)];
      await leader.commit({
        taskUpdates: numbers.map((no) => running(1, no, { attempt })),
        events,
      });
    }
    await watching;
  });
});
