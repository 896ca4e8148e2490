/** Stored vectors, searched by two worker processes and compared with DuckDB. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { buildVectorIndex, connect, nearest } from '../../src/client/millrace.ts';
import type { Client, SearchOptions } from '../../src/client/millrace.ts';
import { type QueryBench, openNode, writeParquet } from './node/node.ts';
import { Oracle } from './oracle.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const BIN = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-vectors-'));
const at = (name: string): string => join(folder, name);
const DIMS = 16;
/** Nothing is small enough to stay whole. */
const settings = { singleFragmentBytes: 0, shufflePartitions: 4 };
const tables = {
  docs: at('docs-*.parquet'),
  fixed: { paths: at('docs-*.parquet'), schema: { v: `FLOAT[${DIMS}]` } },
  wide: at('wide.parquet'),
  scattered: at('scattered-*.parquet'),
  queries: at('queries.parquet'),
};

/** Around 40 centres, the same in each run; every id has its own vector, apart from the odd ones. */
const noise = (seed: string): string => `(hash(${seed}) % 2000001 / 1000000.0 - 1)`;
const VECTOR = `[${noise('i % 40 * 100 + j')} + 0.5 * ${noise('i * 100 + j + 7')} for j in range(${DIMS})]::FLOAT[]`;
const ODD = `case i when 5 then null when 6 then [0 for _ in range(${DIMS})]::FLOAT[]
  when 7 then ['nan'::FLOAT for _ in range(${DIMS})] when 8 then null else ${VECTOR} end`;
const docs = (from: number, to: number): string =>
  `select i as id, 'group' || (i % 3) as kind, ${ODD} as v, (${ODD})[:4] as short
   from (select case when i between 100 and 120 then 100 else i end as i, i as n from range(${from}, ${to}) t(i))`;

let leader: QueryBench;
let workers: readonly ChildProcess[];
let client: Client;
let oracle: Oracle;
beforeAll(async () => {
  await writeParquet({
    [at('docs-0.parquet')]: docs(0, 2000).replace('select i as id', 'select n as id'),
    [at('docs-1.parquet')]: docs(2000, 4000).replace('select i as id', 'select n as id'),
    [at('queries.parquet')]: `select i as q, ${VECTOR} as qv from range(50, 55) t(i)`,
  });
  const body = `(select string_agg(md5((i * 100 + j)::varchar), '') from range(20) s(j))`;
  await writeParquet(
    {
      [at('wide.parquet')]:
        `select i as id, ${VECTOR} as v, ${body} as body from range(60000) t(i)`,
    },
    'row_group_size 2048',
  );
  // Keys in no order, in files that no task reads as they are.
  const scattered = (from: number, to: number): string =>
    `select (i * 7919) % 60000 as id, ${VECTOR} as v, ${body} as body from range(${from}, ${to}) t(i)`;
  await writeParquet(
    {
      [at('scattered-0.parquet')]: scattered(0, 10_000),
      [at('scattered-1.parquet')]: scattered(10_000, 45_000),
      [at('scattered-2.parquet')]: scattered(45_000, 60_000),
    },
    'row_group_size 2048',
  );
  const read = (name: string): string => `read_parquet('${at(name)}')`;
  oracle = await Oracle.open({
    ...{ docs: read('docs-*.parquet'), wide: read('wide.parquet') },
    scattered: read('scattered-*.parquet'),
    ...{ queries: read('queries.parquet'), fixed: read('docs-*.parquet') },
  });
  leader = await openNode({ MILLRACE_SLOTS: '0' });
  workers = ['a', 'b'].map((id) => {
    const args = ['worker', '--server', leader.grpc, '--node-id', id, '--slots', '2'];
    return spawn(process.execPath, [BIN, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 2] });
  });
  // Its first line says that it is ready.
  await Promise.all(
    workers.map(({ stdout }) => once(stdout as NonNullable<typeof stdout>, 'data')),
  );
  client = connect(leader.url);
});
afterAll(async () => {
  await client.close();
  const ended = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.kill('SIGTERM');
  await Promise.all(ended);
  await leader.close();
  oracle.close();
  rmSync(folder, { recursive: true, force: true });
});

const TO = Float32Array.from({ length: DIMS }, (_, j) => Math.sin(j + 1));
/** As text: numbers in SQL are decimals, and their way to FLOAT rounds differently. */
const LIST = `'[${TO.join(', ')}]'::FLOAT[${DIMS}]`;
const FUNCTIONS = {
  cosine: 'array_cosine_distance',
  l2: 'array_distance',
  dot: 'array_negative_inner_product',
} as const;
const ids = (rows: readonly object[]): string[] =>
  rows.map((row) => String((row as { readonly id: bigint }).id));
const search = (more: Partial<SearchOptions>): ReturnType<typeof nearest> =>
  nearest(client, {
    ...{ table: 'docs', key: 'id', vector: 'v', to: TO, k: 10, tables, settings },
    ...more,
  });

test.each(['cosine', 'l2', 'dot'] as const)(
  'the nearest by %s are those of DuckDB, from lists and from arrays',
  async (metric) => {
    const wanted = await oracle.answer(
      `select id, ${FUNCTIONS[metric]}(v::FLOAT[${DIMS}], ${LIST}) as d from docs where v is not null
       order by d, id limit 30`,
    );
    for (const table of ['docs', 'fixed']) {
      const rows = await search({ table, metric, k: 30 });
      expect(ids(rows)).toEqual(wanted.rows.map(([id]) => id));
      const distances = wanted.rows.map(([, d]) => Math.fround(Number(d)));
      expect(rows.map(({ distance }) => Math.fround(distance))).toEqual(distances);
    }
    const plain = `select id from docs order by ${FUNCTIONS[metric]}(v::FLOAT[${DIMS}], $q::FLOAT[${DIMS}]), id limit 30`;
    const query = client.sql(plain, { params: { q: TO }, tables, settings });
    expect(ids(await query.rows())).toEqual(wanted.rows.map(([id]) => id));
    const { stages, single } = await query.finished();
    expect(single).toBeNull();
    // Each task sends its first 30 rows and no more.
    expect(stages.map(({ tasks, rowsOut }) => [tasks.total, rowsOut])).toEqual([
      [4, 120],
      [1, 30],
    ]);
  },
);

test('vectors of zeros and NaN come last, those that are NULL are left out, and ties are by key', async () => {
  for (const metric of ['cosine', 'l2', 'dot'] as const) {
    const rows = await search({ metric, k: 5000 });
    expect(rows).toHaveLength(3998);
    expect(ids(rows)).not.toContain('5');
    expect(ids(rows).at(-1)).toBe('7');
    if (metric === 'cosine') expect(ids(rows).at(-2)).toBe('6');
    const same = ids(rows).filter((id) => Number(id) >= 100 && Number(id) <= 120);
    expect(same).toEqual(Array.from({ length: 21 }, (_, place) => String(100 + place)));
  }
});

test('a filter, two phases and a table of queries give what DuckDB gives', async () => {
  const filtered = await search({
    where: 'kind = $kind -- only these',
    params: { kind: 'group1' },
  });
  const distance = `array_cosine_distance(v::FLOAT[${DIMS}], ${LIST})`;
  const own = await oracle.answer(
    `select id from docs where kind = 'group1' and v is not null order by ${distance}, id limit 10`,
  );
  expect(ids(filtered)).toEqual(own.rows.map(([id]) => id));

  const first = { vector: 'short', to: TO.slice(0, 4), candidates: 50 };
  const ranked = await search({ first, columns: ['kind'] });
  const both = await oracle.answer(
    `with c as (select id, v, kind from docs where short is not null
       order by array_cosine_distance(short::FLOAT[4], (${LIST})[:4]::FLOAT[4]), id limit 50)
     select id, kind from c order by ${distance}, id limit 10`,
  );
  expect(ranked.map((row) => Object.values(row))).toEqual(
    both.rows.map(([id, kind], place) => [BigInt(id as string), ranked[place]?.distance, kind]),
  );

  const batch = `select q, id from docs, queries where v is not null
    qualify row_number() over (partition by q
      order by array_cosine_distance(v::FLOAT[${DIMS}], qv::FLOAT[${DIMS}]), id) <= 10 order by q, id`;
  const query = client.sql<{ q: bigint; id: bigint }>(batch, { tables, settings });
  const pairs = (await query.rows()).map(({ q, id }) => [String(q), String(id)]);
  expect(pairs).toEqual((await oracle.answer(batch)).rows);
  // 19,990 pairs are compared, and at most ten for each query leave a task.
  const sent = (await query.finished()).stages.map(({ rowsOut }) => rowsOut);
  expect(Math.max(...sent)).toBeLessThanOrEqual(4 * 5 * 10);
});

/** Bytes that the worker processes and their engines have read so far. */
function bytesRead(): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    const stat = attempt(() => readFileSync(`/proc/${name}/stat`, 'utf8')) ?? '';
    parents.set(Number(name), Number(/\) \S (\d+)/.exec(stat)?.[1] ?? 0));
  }
  const own = new Set(workers.map(({ pid }) => pid));
  const isOurs = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (own.has(pid) || isOurs(parents.get(pid)));
  return [...parents.keys()].filter(isOurs).reduce((sum, pid) => {
    const text = attempt(() => readFileSync(`/proc/${pid}/io`, 'utf8')) ?? '';
    return sum + Number(/rchar: (\d+)/.exec(text)?.[1] ?? 0);
  }, 0);
}

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    // The process has ended.
    return null;
  }
}

test.each([
  // In the order of the key: three row groups of 30 at most have a winner.
  ['wide', 'key', 1 / 3],
  // In no order: each task reads the row groups of its own three first rows.
  ['scattered', 'position', 1 / 2],
] as const)(
  'wide columns of %s are read late, by %s, and are those of DuckDB',
  async (table, fetch, most) => {
    const measured = async (work: () => Promise<unknown>): Promise<number> => {
      const before = bytesRead();
      await work();
      return bytesRead() - before;
    };
    const wide = { table, k: 3, fetch };
    await search(wide);
    const without = await measured(() => search(wide));
    const late = await measured(() => search({ ...wide, columns: ['body'] }));
    const everything = await measured(() =>
      client.sql(`select max(body), max(v) from ${table}`, { tables, settings }).rows(),
    );
    const winners = await search({ ...wide, columns: ['body'] });
    const own = await oracle.answer(
      `select id, body from ${table} order by array_cosine_distance(v::FLOAT[${DIMS}], ${LIST}), id limit 3`,
    );
    expect(winners.map((row) => Object.values(row))).toEqual(
      own.rows.map(([id, body], place) => [BigInt(id as string), winners[place]?.distance, body]),
    );
    console.log(`${table}: ${late - without} of ${everything - without} bytes`);
    expect(late - without).toBeLessThan((everything - without) * most);
  },
);

test('an index finds most of what an exact search finds, and reads less', async () => {
  const { tables: indexed, sizes } = await buildVectorIndex(client, {
    ...{
      table: 'docs',
      key: 'id',
      vector: 'v',
      clusters: 12,
      folder: at('index'),
      tables,
      settings,
    },
  });
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3998);
  expect(JSON.parse(readFileSync(at('index/catalog.json'), 'utf8'))).toMatchObject({
    tables: { docs: { hive: { cluster: 'INTEGER' } }, docs_centroids: 'centroids.parquet' },
  });
  const queries = (await oracle.answer('select qv from queries')).rows.map(
    ([qv]) => qv as readonly number[],
  );
  const recall = async (nprobe: number): Promise<number> => {
    let found = 0;
    for (const to of queries) {
      const exact = new Set(ids(await search({ to })));
      const probe = { centroids: 'docs_centroids', nprobe };
      const near = await search({
        to,
        tables: { ...tables, ...indexed },
        probe,
        columns: ['kind'],
      });
      found += ids(near).filter((id) => exact.has(id)).length;
    }
    return found / (queries.length * 10);
  };
  const [few, all] = [await recall(2), await recall(1000)];
  expect(few).toBeGreaterThanOrEqual(0.9);
  expect(all).toBe(1);
  const probed = client.sql('select count(*) from docs where cluster in (1, 2)', {
    tables: indexed,
    settings,
  });
  const [rows] = (await probed.finished()).stages.map(({ rowsIn }) => rowsIn);
  expect(rows).toBe((sizes[1] ?? 0) + (sizes[2] ?? 0));
});

test('what cannot be searched is refused with a reason, and odd limits are taken as they are', async () => {
  expect(await search({ k: 0 })).toEqual([]);
  await expect(search({ to: [1, 2] })).rejects.toThrow(/length 16 to array with length 2/);
  await expect(search({ to: [1, 2], table: 'fixed' })).rejects.toThrow(/size|length/);
  await expect(search({ to: [] })).rejects.toThrow("'to' is not a vector");
  await expect(search({ to: ['a'] as never })).rejects.toThrow('not a finite number');
  await expect(search({ to: [Number.NaN] })).rejects.toThrow('NaN at position 0');
  await expect(search({ k: -1 })).rejects.toThrow("'-1' is not a valid value for 'k'");
  await expect(search({ k: 1.5 })).rejects.toThrow('whole number');
  await expect(search({ metric: 'near' as never })).rejects.toThrow('not a valid metric');
  await expect(search({ vector: 'nope' })).rejects.toThrow('nope');
  await expect(search({ vector: 'kind' })).rejects.toThrow(/cast|Conversion/i);
  await expect(search({ probe: { centroids: 'x', nprobe: 0 } })).rejects.toThrow('nprobe');
  const folderInUse = { clusters: 2, folder, table: 'docs', key: 'id', vector: 'v', tables };
  await expect(buildVectorIndex(client, folderInUse)).rejects.toThrow('is not empty');
});
