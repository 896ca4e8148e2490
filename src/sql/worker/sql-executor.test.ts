import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
import type { JobId, Json } from '../../scheduler/core/index.ts';
import type { RowsRequest } from '../engine/index.ts';
import { ChildJobError } from '../../tasks/executors/index.ts';
import type { Callable, TaskContext } from '../../tasks/executors/index.ts';
import type { FragmentResult, PartitionRead } from '../plan/index.ts';
import { PartitionLostError } from '../shuffle/index.ts';
import { sqlExecutor } from './sql-executor.ts';

const columns = [{ name: 'n', type: 'BIGINT' }];
const place = {
  ...{ task: 's0.0', fence: 3, node: 'w-1', address: null },
  ...{ folder: '/nowhere', index: 'x', epoch: 1, layout: 1 },
};
const metrics = {
  ...{ rowsIn: 0, rowsOut: 0, bytesOut: 0, batches: 0, fetchedBytes: 0, localBytes: 0 },
  ...{ fetchMs: 0, runMs: 0, writeMs: 0, spilledBytes: 0 },
};
const far: FragmentResult = {
  at: place,
  parts: [{ rows: 1, bytes: 10, segments: [[10, 1]] }],
  inline: null,
  metrics,
};
const small: FragmentResult = {
  ...far,
  inline: { parquet: Buffer.from('PAR1').toString('base64'), rows: [['7']] },
};
const unread: FragmentResult = {
  ...far,
  inline: { parquet: Buffer.from('PAR1').toString('base64'), rows: null },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-sql-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

interface Play {
  readonly parts: readonly FragmentResult[];
  readonly localize?: (reads: readonly PartitionRead[], into: string) => Promise<readonly string[]>;
  readonly rows?: (request: RowsRequest) => string;
  readonly resultBytesMax?: number;
}

function play({ parts, localize, rows, resultBytesMax = 1_000 }: Play) {
  const called: { name: string; document: unknown }[] = [];
  const call = async <I, O>(name: string, what: Callable<I, O>, input: I): Promise<O> => {
    called.push({ name, document: what.toDocument(input) });
    const result = { columns, parts } as unknown as Json;
    return what.readResult(result, `j-1.${called.length}` as JobId);
  };
  const executor = sqlExecutor({
    parts: {
      localize: async (_query, reads, into) => {
        const made = typeof into === 'string' ? into : await into();
        const files = (await localize?.(reads, made)) ?? [];
        return files.map((file) => ({ files: [file], states: [], fetchedBytes: 0, localBytes: 0 }));
      },
    },
    engine: {
      rows: async function* (request) {
        yield Buffer.from(rows?.(request) ?? expect.fail('nobody needs an engine'));
      },
    },
    folder: () => mkdtemp(join(folder, 'sql-')),
    resultBytesMax,
  });
  return {
    called,
    run: (input: Json, context: TaskContext = testContext({ call })) =>
      executor.run(input, context),
  };
}

test('a query is a job of its own, and rows that came with its result are taken from there', async () => {
  const { called, run } = play({ parts: [small, small] });
  const input = { sql: 'select n from t', tables: { t: 'x.parquet' }, params: [1], settings: {} };
  expect(await run(input)).toEqual({ queryId: 'j-1.1', columns, rows: [['7'], ['7']] });
  expect(called).toEqual([{ name: 'query', document: { query: input } }]);
});

test('other rows are read by an engine, in the order of the parts, and leave nothing behind', async () => {
  const { run } = play({
    parts: [unread, far, unread],
    localize: async (reads, into) => reads.map(({ partition }) => join(into, `far-${partition}`)),
    rows: ({ parts, format }) => {
      expect(format).toBe('json');
      const files = parts.map(String);
      expect(files.map((file) => file.slice(file.lastIndexOf('/') + 1))).toEqual([
        'inline-0.parquet',
        'far-0',
        'inline-2.parquet',
      ]);
      expect(readFileSync(files[0] ?? '', 'utf8')).toBe('PAR1');
      return JSON.stringify({ columns, rows: [['1'], ['2']] });
    },
  });
  expect(await run({ sql: 'select 1' })).toMatchObject({ rows: [['1'], ['2']] });
  expect(readdirSync(folder)).toEqual([]);
});

test('recomputes rows that were lost with their node', async () => {
  let brought = 0;
  const { called, run } = play({
    parts: [far],
    localize: async () => {
      brought += 1;
      if (brought < 3) throw new PartitionLostError(place, 'The node is gone.');
      return ['there'];
    },
    rows: () => JSON.stringify({ columns, rows: [['1']] }),
  });
  expect(await run({ sql: 'select 1' })).toMatchObject({ queryId: 'j-1.3', rows: [['1']] });
  expect(called.map(({ name }) => name)).toEqual(['query', 'query-2', 'query-3']);
});

test('rows that are lost each time end the task', async () => {
  const { run } = play({
    parts: [far],
    localize: () => Promise.reject(new PartitionLostError(place, 'The node is gone.')),
  });
  const thrown = await thrownBy(() => run({ sql: 'select 1' }));
  expect(thrown).toMatchObject({ code: 'result_lost' });
  expect(readdirSync(folder)).toEqual([]);
});

test.each<[string, Play]>([
  [
    'before they are fetched',
    { parts: [{ ...far, parts: [{ rows: 1, bytes: 2_000, segments: [] }] }] },
  ],
  ['as they are read', { parts: [unread], rows: () => 'x'.repeat(1_001) }],
])('rows that no result can hold are refused %s', async (_when, given) => {
  const thrown = await thrownBy(() => play(given).run({ sql: 'select 1' }));
  expect(thrown).toMatchObject({
    code: 'too_large',
    todo: expect.stringContaining('limit') as unknown,
  });
});

test('a query that fails ends the task with its own error, for good', async () => {
  const error = { code: 'query_failed', message: 'Division by zero' };
  const call = () => Promise.reject(new ChildJobError('j-1.1', 'sql', 'failed', error));
  const thrown = await thrownBy(() =>
    play({ parts: [] }).run({ sql: 'select 1/0' }, testContext({ call })),
  );
  expect(thrown).toMatchObject({ ...error, failure: 'fatal' });
});

test('does not name the internal task that failed', async () => {
  const error = { code: 'task_failed', message: 'task s0.3 failed: Division by zero' };
  const call = () => Promise.reject(new ChildJobError('j-1.1', 'sql', 'failed', error));
  const thrown = await thrownBy(() =>
    play({ parts: [] }).run({ sql: 'select 1/0' }, testContext({ call })),
  );
  expect(thrown).toMatchObject({ code: 'query_failed', message: 'Division by zero' });
});

test.each<[Json, string]>([
  [{}, '/sql'],
  [{ sql: 7 }, '/sql'],
  [{ sql: 'select 1', tables: 'x' }, '/tables'],
  [{ sql: 'select 1', table: {} }, '/table'],
  ['select 1', 'Must be an object'],
])('the input %j is refused with its place', async (input, words) => {
  const thrown = await thrownBy(() => play({ parts: [] }).run(input));
  expect(thrown).toMatchObject({ code: 'bad_input' });
  expect((thrown as Error).message).toContain(words);
});
