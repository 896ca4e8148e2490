import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { type FreshDatabase, freshDatabase } from '../../../test/rig/postgres.ts';
import { instant } from '../core/index.ts';
import { TestLeader } from '../../../test/rig/conformance/leader.ts';
import { contentOf, manyRows } from '../../../test/rig/conformance/moving.ts';
import { aNode, jobId } from '../../../test/rig/conformance/rows.ts';
import { openDuckdbStore } from './duckdb/duckdb.ts';
import { openMemoryStore } from './memory/memory.ts';
import { exportStore, importStore } from './move.ts';
import { openPostgresStore } from './postgres/open.ts';
import type { Store } from './store.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const OPEN: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => openMemoryStore({ now: () => instant(Date.now()) }),
  DuckDB: () => openDuckdbStore({ path: ':memory:' }),
  PostgreSQL: async () => {
    const database: FreshDatabase = await freshDatabase();
    closing.push(() => database.drop());
    return openPostgresStore({ url: database.url, migrate: true });
  },
};

async function open(kind: string): Promise<Store> {
  const store = await (OPEN[kind] ?? expect.fail(kind))();
  closing.push(() => store.close());
  return store;
}

async function* rows(): AsyncGenerator<ReturnType<typeof manyRows>[number]> {
  yield* manyRows();
}

async function linesOf(store: Store): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportStore(store)) lines.push(line);
  return lines;
}

async function goodLines(): Promise<string[]> {
  const store = await open('memory');
  await store.fill(rows());
  return linesOf(store);
}

describe('the content of a store moves', () => {
  for (const from of Object.keys(OPEN)) {
    for (const to of Object.keys(OPEN)) {
      test(`from ${from} to ${to}, and nothing is lost`, async () => {
        const [source, target] = [await open(from), await open(to)];
        await source.fill(rows());
        const counts = await importStore(target, exportStore(source));
        expect(counts).toMatchObject({ counters: 2, job: 3, event: 2, inbox: 2 });
        expect(await contentOf(target)).toEqual(await contentOf(source));
      });
    }
  }

  test('as lines, each of them JSON without a line break', async () => {
    const lines = await goodLines();
    expect(lines).toHaveLength(manyRows().length + 2);
    expect(JSON.parse(lines[0] ?? '')).toEqual({ format: 'millrace-export', version: 3 });
    expect(lines.some((line) => line.includes('\n'))).toBe(false);
  });

  test('also when the lines come with their line breaks, and one more at the end', async () => {
    const target = await open('memory');
    const lines = (await goodLines()).map((line) => `${line}\r\n`);
    await importStore(target, [...lines, '\n']);
    expect(await contentOf(target)).toHaveLength(manyRows().length);
  });

  test('also when it was exported before there were signals', async () => {
    const lines = (await goodLines()).slice(0, -1).filter((line) => !line.includes('"signal"'));
    const target = await open('memory');
    await importStore(target, olderLines(lines, 1, ['output', 'waits', ...SINCE_2]));
    const image = await target.loadJob(0, jobId('job-1'));
    expect(image).toMatchObject({ job: { output: null, labels: [], runAt: null }, signals: [] });
    expect(image?.tasks.map(({ waits }) => waits)).toEqual([null, null]);
  });

  test('also when it was exported before there were labels', async () => {
    const target = await open('memory');
    await importStore(target, olderLines((await goodLines()).slice(0, -1), 2, SINCE_2));
    const image = await target.loadJob(0, jobId('job-1'));
    expect(image?.job).toMatchObject({ labels: [], runAt: null, options: null });
  });

  test('also when there is none', async () => {
    const target = await open('memory');
    expect(await importStore(target, exportStore(await open('memory')))).toEqual({});
  });
});

const SINCE_2 = ['labels', 'runAt', 'slots', 'prefetch'];

/** The same rows as an earlier version would have exported them, with its header and trailer. */
function olderLines(lines: readonly string[], version: number, lacking: readonly string[]) {
  const rows: Record<string, number> = {};
  const older = lines.slice(1).map((line) => {
    const { table, row } = JSON.parse(line) as { table: string; row: Record<string, unknown> };
    rows[table] = (rows[table] ?? 0) + 1;
    const known = Object.entries(row).filter(
      // A task's specification has had options from the beginning.
      ([field]) => !lacking.includes(field) && !(table === 'job' && field === 'options'),
    );
    expect(table !== 'job' || known.length < Object.keys(row).length).toBe(true);
    return JSON.stringify({ table, row: Object.fromEntries(known) });
  });
  const all = [JSON.stringify({ format: 'millrace-export', version }), ...older];
  const sha256 = createHash('sha256')
    .update(`${all.join('\n')}\n`)
    .digest('hex');
  return [...all, JSON.stringify({ end: true, rows, sha256 })];
}

type Spoil = (lines: readonly string[]) => string[];
const onLine =
  (no: number, change: (line: string) => string): Spoil =>
  (lines) =>
    lines.map((line, at) => (at === no - 1 ? change(line) : line));
const onRow = (no: number, parts: object): Spoil =>
  onLine(no, (line) => {
    const item = JSON.parse(line) as { table: string; row: object };
    return JSON.stringify({ ...item, row: { ...item.row, ...parts } });
  });

const LAST = manyRows().length + 2;
const WRONG: Readonly<Record<string, { readonly spoil: Spoil; readonly line: number }>> = {
  'an empty file': { spoil: () => [], line: 1 },
  'another file': { spoil: onLine(1, () => '{"name":"package"}'), line: 1 },
  'a list in the place of the header': { spoil: onLine(1, () => '[1]'), line: 1 },
  'null in the place of the header': { spoil: onLine(1, () => 'null'), line: 1 },
  'a newer version': { spoil: onLine(1, (line) => line.replace('3}', '4}')), line: 1 },
  'no header': { spoil: (lines) => lines.slice(1), line: 1 },
  garbage: { spoil: onLine(5, () => '\u0000\u0001garbage'), line: 5 },
  'half a line': { spoil: onLine(5, (line) => line.slice(0, 30)), line: 5 },
  'an empty line in the middle': { spoil: onLine(5, () => ''), line: 5 },
  'no end': { spoil: (lines) => lines.slice(0, -1), line: LAST },
  'an end that was cut off': { spoil: (lines) => lines.slice(0, 4), line: 5 },
  'a row that is missing': { spoil: (lines) => lines.toSpliced(16, 1), line: LAST - 1 },
  'rows in another order': {
    spoil: (lines) => lines.toSpliced(13, 2, lines[14] ?? '', lines[13] ?? ''),
    line: LAST,
  },
  'a changed value': { spoil: onRow(3, { name: 'changed' }), line: LAST },
  'something after the end': { spoil: (lines) => [...lines, '{}'], line: LAST + 1 },
  'an unknown table': { spoil: onLine(5, () => '{"table":"pets","row":{}}'), line: 5 },
  'a table named like a method': {
    spoil: onLine(5, () => '{"table":"toString","row":{}}'),
    line: 5,
  },
  'no row': { spoil: onLine(5, () => '{"table":"spec"}'), line: 5 },
  'something beside the row': {
    spoil: onLine(5, () => '{"table":"spec","row":{},"x":1}'),
    line: 5,
  },
  'a field that is missing': {
    spoil: onLine(3, (line) => line.replace('"name"', '"nome"')),
    line: 3,
  },
  'a field that nobody knows': { spoil: onRow(3, { extra: 1 }), line: 3 },
  'a text in the place of a number': { spoil: onRow(3, { run: '1' }), line: 3 },
  'a number in the place of a list': { spoil: onRow(5, { dependsOn: 1 }), line: 5 },
  'an error without a message': { spoil: onRow(4, { error: { code: 'x' } }), line: 4 },
  'a number too large to be exact': { spoil: onRow(4, { createdAt: 2 ** 60 }), line: 4 },
  'a running task without a session': { spoil: onRow(7, { sessionId: null }), line: 7 },
};

describe('an import refuses', () => {
  for (const [what, { spoil, line }] of Object.entries(WRONG)) {
    test(`${what}, says where, and stores nothing`, async () => {
      const lines = spoil(await goodLines());
      for (const kind of ['memory', 'DuckDB']) {
        const target = await open(kind);
        await expect(importStore(target, lines)).rejects.toMatchObject({
          code: 'bad_input',
          path: `line ${line}`,
        });
        expect(await contentOf(target)).toEqual([]);
      }
    });
  }

  test('a row that came twice, in a file that is whole otherwise', async () => {
    for (const kind of ['memory', 'DuckDB', 'PostgreSQL']) {
      const lines = await linesOf(twice(await open('memory')));
      const target = await open(kind);
      await expect(importStore(target, lines)).rejects.toMatchObject({ code: 'bad_input' });
      expect(await contentOf(target)).toEqual([]);
    }
  });

  /** A store that tells everything twice. */
  function twice(store: Store): Store {
    async function* dump() {
      for (const row of manyRows()) {
        yield row;
        if (row.table !== 'counters') yield row;
      }
    }
    return Object.assign(Object.create(store) as Store, { dump });
  }

  test('to go into a store that is not empty', async () => {
    const target = await open('DuckDB');
    const leader = await TestLeader.of(target, 0);
    await leader.commit({ nodeUpserts: [aNode('w-1')] });
    const before = await contentOf(target);
    const lines = await goodLines();
    await expect(importStore(target, lines)).rejects.toMatchObject({ code: 'conflict' });
    expect(await contentOf(target)).toEqual(before);
  });
});
