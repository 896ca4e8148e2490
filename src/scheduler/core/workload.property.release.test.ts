import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { Harness, echo } from '../../../test/rig/harness.ts';
import { Workload, operations } from '../../../test/rig/harness/workload.ts';
import { openMemoryStore } from '../store/index.ts';
import { TASK_MOVES, TASK_STATES } from './index.ts';
import type { Batch, TermId } from './index.ts';
import { TaskTable } from './task/table.ts';

// oxlint-disable-next-line typescript/unbound-method -- it is called with a `this`, below
const realMove = TaskTable.prototype.move;

test('whatever happens, every job ends, every task exactly once, and nothing is left behind', () => {
  fc.assert(
    fc.property(operations, (each) => {
      const world = Workload.run(each, () => {});
      expect(world.state.tasks.size).toBe(0);
    }),
    { numRuns: 150 },
  );
});

/** Loads everything; that must not change a row. */
function restartUnnoticed(world: Harness): void {
  const { lastSeq } = world.rows;
  const batches: Batch[] = [];
  world.onCommit = (batch) => batches.push(batch);
  world.restart();
  world.onCommit = () => {};
  expect(world.rows.lastSeq).toBe(lastSeq);
  expect(batches).toMatchObject([{ taskUpdates: [], jobUpdates: [], nodeUpserts: [], events: [] }]);
}

test('a restart after every step is not noticed: no row changes by it, and all jobs end', () => {
  fc.assert(
    fc.property(operations, (each) => {
      const world = Workload.run(each, restartUnnoticed);
      expect(world.state.tasks.size).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test('every move of the chart is made by somebody', () => {
  const moves = new Set<string>();
  vi.spyOn(TaskTable.prototype, 'move').mockImplementation(function (this: TaskTable, slot, to) {
    moves.add(`${this.state(slot)} -> ${to}`);
    realMove.call(this, slot, to);
  });
  fc.assert(
    fc.property(operations, (each) => void Workload.run(each, () => {})),
    { numRuns: 200, seed: 1 },
  );
  runOutOfTimeWhileDelayed();
  loseWhatADelayedTaskReads();
  vi.restoreAllMocks();
  const drawn = TASK_STATES.flatMap((from) => TASK_MOVES[from].map((to) => `${from} -> ${to}`));
  expect(drawn.filter((edge) => !moves.has(edge))).toEqual([]);
});

/** Too rare to be met by chance. */
function runOutOfTimeWhileDelayed(): void {
  const world = new Harness();
  const node = world.node('w1');
  const slow = { retry: { backoffMs: 1_000 }, timeouts: { totalMs: 100 } };
  world.submit({ name: 'job', tasks: [echo('a', slow)] });
  node.fail(node.poll()[0]!);
  world.advance(100);
}

function loseWhatADelayedTaskReads(): void {
  const world = new Harness();
  const [maker, reader] = [world.node('w1'), world.node('w2')];
  const tasks = [echo('a'), echo('b', { dependsOn: ['a'] })];
  world.submit({ name: 'job', tasks }, { own: { a: { output: 'deterministic' } } });
  maker.complete(maker.poll()[0]!);
  reader.fail(reader.poll()[0]!);
  maker.die();
  world.advance(1_000);
}

test('the same events at the same times give the same rows', () => {
  fc.assert(
    fc.property(operations, (each) => {
      const [first, second] = [1, 2].map(() => Workload.run(each, () => {}));
      expect(second!.log()).toEqual(first!.log());
    }),
    { numRuns: 20 },
  );
});

test('every batch is one that a store takes', async () => {
  await fc.assert(
    fc.asyncProperty(operations, async (each) => {
      const batches: Batch[] = [];
      const keep = (batch: Batch): number => batches.push(batch);
      const world = Workload.run(each, () => {}, keep);
      const store = openMemoryStore({ now: () => world.now });
      const candidacy = { shard: 0, nodeId: 'a', url: null, grpc: null, ttlMs: 10_000 };
      const elected = await store.campaign({ ...candidacy, term: 'term' as TermId });
      if (!elected.won) throw new Error('nobody else leads');
      for (const batch of batches) await store.commit(elected.term, 10_000, batch);
      expect(await store.loadBusyJobs(0)).toEqual([]);
    }),
    { numRuns: 30 },
  );
});
