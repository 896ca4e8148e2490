import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { fragmentResult, samplePlan } from '../../../test/rig/query-job.ts';
import { instant } from '../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../scheduler/core/index.ts';
import type { RowsRequest } from '../engine/index.ts';
import type { ResultFormat } from '../../scheduler/contract/index.ts';
import type { FragmentResult, PartitionRead } from '../plan/index.ts';
import { PartitionLostError } from '../shuffle/index.ts';
import { QueryResults } from './results.ts';
import type { QueryRecord } from '../plan/index.ts';
import type { QueryResultsOptions } from './results.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-results-'));
afterAll(() => rmSync(folder, { recursive: true }));
const never = new AbortController().signal;
const id = 'q' as JobId;

let asked: { readonly rows: RowsRequest[]; readonly reads: PartitionRead[] };

beforeEach(() => {
  asked = { rows: [], reads: [] };
});

function inline(rows: unknown[][] | null): FragmentResult {
  return fragmentResult('s1.0', {
    parts: [{ rows: 1, bytes: 3, segments: [] }],
    inline: { parquet: Buffer.from('PAR').toString('base64'), rows },
  });
}

function record(more: Partial<QueryRecord> = {}): QueryRecord {
  return {
    id,
    state: 'succeeded',
    error: null,
    plan: samplePlan,
    expiresAt: instant(2_000),
    now: instant(1_000),
    parts: [inline([['1'], [null]])],
    ...more,
  };
}

function results(known: QueryRecord | null, more: Partial<QueryResultsOptions> = {}): QueryResults {
  return new QueryResults({
    record: () => Promise.resolve(known),
    analysis: () => Promise.resolve('as measured'),
    parts: {
      localize: (_query, reads) => {
        asked.reads.push(...reads);
        return Promise.resolve(
          reads.map(({ at, part }) => ({
            files: [`/brought/${at.task}`],
            states: [],
            fetchedBytes: part.bytes,
            localBytes: 0,
          })),
        );
      },
    },
    rows: {
      async *rows(request) {
        asked.rows.push(request);
        yield Buffer.from('rows of ');
        for (const file of request.parts) {
          if (typeof file !== 'string') yield Buffer.from(`${file.json} `);
          else yield Buffer.from(existsSync(file) ? readFileSync(file) : `${file} `);
        }
      },
    },
    folder,
    ...more,
  });
}

async function read(from: QueryResults, format: ResultFormat = 'json'): Promise<string> {
  let text = '';
  const { pieces } = await from.open(id, format, never);
  for await (const piece of pieces) text += Buffer.from(piece).toString();
  return text;
}

test('small rows come as JSON straight from the store', async () => {
  const small = results(record());
  expect(JSON.parse(await read(small))).toEqual({
    columns: [{ name: 'a', type: 'BIGINT' }],
    rows: [['1'], [null]],
  });
  expect(asked.rows).toEqual([]);
  expect(small.figures()).toMatchObject({ results: 1, resultsOpen: 0, resultsFailed: 0 });
});

test('the statistics of EXPLAIN ANALYZE come with the answer that waited for them', async () => {
  const analyzed = record({ plan: { ...samplePlan, analyze: true }, parts: [] });
  expect(await results(analyzed).inlineRows(id)).toMatchObject({
    rows: [['analyzed_plan', 'as measured']],
  });
  expect(await results(record({ parts: [] })).inlineRows(id)).toBeNull();
});

test('in another form they go through the engine, and nothing is left behind', async () => {
  expect(await read(results(record()), 'csv')).toBe('rows of PAR');
  expect(asked.rows).toMatchObject([{ format: 'csv', columns: samplePlan.columns }]);
  expect(readdirSync(folder)).toEqual([]);
});

test('rows without a file go to the engine as they are, in order with files', async () => {
  const stages = samplePlan.stages.map((stage, at) => (at === 1 ? { ...stage, tasks: 2 } : stage));
  const alone = { ...inline([['1']]), inline: { parquet: null, rows: [['1']] } };
  const mixed = results(record({ plan: { ...samplePlan, stages }, parts: [alone, inline(null)] }));
  expect(await read(mixed)).toBe('rows of [["1"]] PAR');
  const small = results(record({ parts: [alone] }));
  expect(JSON.parse(await read(small))).toMatchObject({ rows: [['1']] });
  expect(await read(small, 'csv')).toBe('rows of [["1"]] ');
});

test('fetches remote partitions, in order with local ones', async () => {
  const stages = samplePlan.stages.map((stage, at) => (at === 1 ? { ...stage, tasks: 3 } : stage));
  const parts = [fragmentResult('s1.0'), inline(null), fragmentResult('s1.2')];
  const mixed = results(record({ plan: { ...samplePlan, stages }, parts }));
  expect(await read(mixed)).toBe('rows of /brought/s1.0 PAR/brought/s1.2 ');
  expect(asked.reads.map(({ at, partition }) => [at.task, partition])).toEqual([
    ['s1.0', 0],
    ['s1.2', 0],
  ]);
  expect(mixed.figures()).toMatchObject({ fetchedBytes: 40 });
});

test.each<[JobState, Partial<QueryRecord>, object]>([
  ['queued', {}, { code: 'conflict', what: 'The query q is queued: it has no rows yet.' }],
  ['running', {}, { code: 'conflict', what: 'The query q is running: it has no rows yet.' }],
  [
    'cancelled',
    { error: { code: 'cancelled', message: 'asked for' } },
    { code: 'conflict', what: 'The query q was cancelled: asked for.' },
  ],
  [
    'failed',
    { error: { code: 'out_of_memory', message: 'Too much.' } },
    { code: 'out_of_memory', what: 'Too much.' },
  ],
  [
    'failed',
    { error: { code: 'dead', message: 'out of attempts' } },
    { code: 'query_failed', what: 'The query q failed (dead): out of attempts' },
  ],
  ['failed', {}, { code: 'query_failed' }],
  ['succeeded', { expiresAt: instant(1_000) }, { code: 'expired' }],
  ['succeeded', { parts: [] }, { code: 'result_lost' }],
])('a query that is %s with %j has no rows', async (state, more, error) => {
  await expect(read(results(record({ state, ...more })))).rejects.toMatchObject(error);
});

test('reports an unknown query as not found', async () => {
  await expect(read(results(null))).rejects.toMatchObject({ code: 'not_found' });
});

test('reports rows that were lost with their node', async () => {
  const part = fragmentResult('s1.0');
  const gone = results(record({ parts: [part] }), {
    parts: {
      localize: () => Promise.reject(new PartitionLostError(part.at, 'Its node is silent.')),
    },
  });
  await expect(read(gone)).rejects.toMatchObject({
    code: 'result_lost',
    why: 'The output of s1.0 on w cannot be read. Its node is silent.',
  });
  expect(gone.figures()).toMatchObject({ results: 0, resultsFailed: 1, resultsOpen: 0 });
  expect(readdirSync(folder)).toEqual([]);
});

test('a reader that stops leaves nothing behind', async () => {
  const half = results(record());
  const { pieces } = await half.open(id, 'csv', never);
  for await (const piece of pieces) {
    expect(piece.byteLength).toBeGreaterThan(0);
    break;
  }
  expect(readdirSync(folder)).toEqual([]);
  expect(half.figures()).toMatchObject({ resultsFailed: 1, resultsOpen: 0 });
});

test('limits the results read at the same time', async () => {
  const one = results(record(), { openMax: 1 });
  const { pieces } = await one.open(id, 'csv', never);
  const first = pieces[Symbol.asyncIterator]();
  await first.next();
  await expect(read(one, 'csv')).rejects.toMatchObject({ code: 'overloaded' });
  await first.return?.();
  expect(await read(one, 'csv')).toBe('rows of PAR');
});
