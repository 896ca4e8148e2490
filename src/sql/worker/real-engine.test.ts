/** Fragments on real engines, over two nodes that share nothing but the network. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { fragment, fragmentNode, fragmentTask } from '../../../test/rig/fragment-node.ts';
import type { FragmentNodeRig } from '../../../test/rig/fragment-node.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import type { TaskId } from '../../scheduler/core/index.ts';
import { EnginePool } from '../engine/index.ts';
import type { FragmentColumn, FragmentResult, FragmentTask, PartitionRead } from '../plan/index.ts';

const PARTITIONS = 4;
const ROWS = 50_000;

/** One for all tests: engines that are warm take the next fragment. */
const spillFolder = mkdtempSync(join(tmpdir(), 'millrace-spill-'));
const engines = new EnginePool({ slots: 2, spillFolder, spillBytesMax: 2 ** 28 });

afterAll(async () => {
  await engines.close();
  rmSync(spillFolder, { recursive: true, force: true });
});

const newNode = (): Promise<FragmentNodeRig> => fragmentNode({ engines, cores: 1 });

const columns = (...types: readonly string[]): readonly FragmentColumn[] =>
  types.map((type, at) => ({ name: `c${at}`, type }));

const context = (taskId: string, fence = 1) => testContext({ taskId: taskId as TaskId, fence });

const readsOf = (results: readonly FragmentResult[], partition: number): readonly PartitionRead[] =>
  results.map(({ at, parts }) => ({ at, partition, part: parts[partition]! }));

/** Numbers `from` to before `to`, partitioned by their value modulo 10. */
const numbers = (from: number, to: number): FragmentTask =>
  fragmentTask({
    fragment: fragment({
      sql: `SELECT i AS c0, (i % 10)::VARCHAR AS c1, i::HUGEINT AS c2 FROM range(${from}, ${to}) t(i)`,
      columns: columns('BIGINT', 'VARCHAR', 'HUGEINT'),
    }),
    output: { kind: 'hash', by: ['c1'], partitions: PARTITIONS },
  });

const sums = (reads: readonly PartitionRead[]): FragmentTask =>
  fragmentTask({
    stage: 1,
    fragment: fragment({
      sql: 'SELECT c1 AS c0, count(*) AS c1, sum(c2) AS c2 FROM x0 GROUP BY c1',
      columns: columns('VARCHAR', 'BIGINT', 'HUGEINT'),
      inputs: [
        {
          relation: 'x0',
          stage: 0,
          mode: 'partition',
          columns: columns('BIGINT', 'VARCHAR', 'HUGEINT'),
        },
      ],
    }),
    reads: { x0: reads },
  });

const ordered = (reads: readonly PartitionRead[]): FragmentTask =>
  fragmentTask({
    stage: 2,
    fragment: fragment({
      sql: 'SELECT c0, c1, c2 FROM x0 ORDER BY c0',
      columns: columns('VARCHAR', 'BIGINT', 'HUGEINT'),
      inputs: [
        {
          relation: 'x0',
          stage: 1,
          mode: 'all',
          columns: columns('VARCHAR', 'BIGINT', 'HUGEINT'),
        },
      ],
    }),
    output: { kind: 'result' },
    rowsAlone: true,
    reads: { x0: reads },
  });

test('three stages over two nodes give what one query would', async () => {
  const [one, two] = await Promise.all([newNode(), newNode()]);
  const mapped = await Promise.all([
    one.run(numbers(0, ROWS), context('s0.0')),
    two.run(numbers(ROWS, 2 * ROWS), context('s0.1')),
  ]);
  expect(mapped.map(({ parts }) => parts.length)).toEqual([PARTITIONS, PARTITIONS]);
  const reduced = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, at) =>
      (at % 2 === 0 ? one : two).run(sums(readsOf(mapped, at)), context(`s1.${at}`)),
    ),
  );
  const read = reduced.map(({ metrics }) => metrics);
  expect(read.reduce((sum, { rowsIn }) => sum + rowsIn, 0)).toBe(2 * ROWS);
  expect(read.some(({ fetchedBytes }) => fetchedBytes > 0)).toBe(true);
  expect(read.some(({ localBytes }) => localBytes > 0)).toBe(true);
  const result = await one.run(ordered(readsOf(reduced, 0)), context('s2.0'));
  const expected = Array.from({ length: 10 }, (_, digit) => {
    const count = (2 * ROWS) / 10;
    const sum = count * digit + (10 * (count * (count - 1))) / 2;
    return [`${digit}`, `${count}`, `${sum}`];
  });
  expect(result.inline).toEqual({ parquet: null, rows: expected });
  expect(result.parts).toEqual([{ rows: 10, bytes: 0, segments: [] }]);
});

test('partitions without rows are read as empty inputs', async () => {
  const node = await newNode();
  const empty = await node.run(numbers(5, 5), context('s0.0'));
  expect(empty.parts).toEqual(
    Array.from({ length: PARTITIONS }, () => ({ rows: 0, bytes: 0, segments: [] })),
  );
  const sum = await node.run(sums(readsOf([empty], 2)), context('s1.2'));
  const result = await node.run(ordered(readsOf([sum], 0)), context('s2.0'));
  expect(result.inline).toEqual({ parquet: null, rows: [] });
});

test('an abort stops the engine, and the next fragment runs', async () => {
  const node = await newNode();
  await node.run(numbers(0, 10), context('s0.0'));
  const endless = fragmentTask({
    fragment: fragment({
      sql: 'SELECT count(*) AS c0 FROM range(1e12::BIGINT) a(i), range(1e6::BIGINT) b(j) WHERE i * j % 7 = 3',
      columns: columns('BIGINT'),
    }),
  });
  const attempt = testContext({
    taskId: 's0.1' as TaskId,
    progress: () => setImmediate(() => attempt.abort(new Error('not wanted any more'))),
  });
  const thrown = await thrownBy(() => node.run(endless, attempt));
  expect(thrown).toMatchObject({ message: 'not wanted any more' });
  const [own = ''] = readdirSync(node.store.root);
  expect(readdirSync(join(node.store.root, own, 'tmp'))).toEqual([]);
  expect((await node.run(numbers(0, 10), context('s0.2'))).metrics.rowsOut).toBe(10);
});

test('fails fatally on data that a query cannot process', async () => {
  const node = await newNode();
  const bad = fragmentTask({
    fragment: fragment({ sql: "SELECT CAST('x' || i AS INTEGER) AS c0 FROM range(3) t(i)" }),
  });
  const thrown = await thrownBy(() => node.run(bad, context('s0.0')));
  expect(thrown).toMatchObject({ code: 'query_failed', failure: 'fatal' });
});
