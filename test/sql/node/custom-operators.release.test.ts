/** Custom operators with real worker processes: what queries return, and what becomes of them when operators misbehave. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { JobShape, NodeShape } from '../../../src/scheduler/contract/index.ts';
import { TestProcess } from '../../rig/cluster/process.ts';
import { until } from '../../rig/until.ts';
import { openNode, writeParquet } from './node.ts';
import type { Body, QueryBench } from './node.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const MILLRACE = new URL('../../../dist/client/millrace.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'millrace-custom-'));
const tables = { docs: join(folder, 'docs.parquet') };
const module = join(folder, 'operators.mjs');
const DISTRIBUTED = { shufflePartitions: 4, singleFragmentBytes: 0, broadcastThresholdBytes: 0 };
let bench: QueryBench;

writeFileSync(
  module,
  `import { defineFunction, defineOperator } from ${JSON.stringify(MILLRACE)};
   const op = (name, run, more = {}) => defineOperator({ name, output: { id: 'BIGINT' }, run, ...more });
   const each = (of) => async function* (batches, context) {
     let no = 0;
     for await (const batch of batches) yield of(batch, (no += 1), context);
   };
   export const all = [
     defineOperator({
       name: 'tokenize', output: { id: 'BIGINT', token: 'VARCHAR' }, params: { column: 'string' },
       async *run(batches, { params }) {
         for await (const { rowCount, columns } of batches) {
           const id = [], token = [];
           for (let row = 0; row < rowCount; row += 1)
             for (const word of columns[params.column][row]?.split(' ') ?? [])
               { id.push(columns.id[row]); token.push(word); }
           yield { columns: { id, token } };
         }
       },
     }),
     defineOperator({
       name: 'per_key', output: { k: 'BIGINT', n: 'BIGINT' }, distribution: { hash: ['k'] },
       async *run(batches) {
         const counts = new Map();
         for await (const { rowCount, columns } of batches)
           for (let row = 0; row < rowCount; row += 1)
             counts.set(columns.k[row], (counts.get(columns.k[row]) ?? 0n) + 1n);
         yield { columns: { k: [...counts.keys()], n: [...counts.values()] } };
       },
     }),
     op('needs_k', async function* () {}, { input: { k: 'BIGINT' }, output: { id: 'BIGINT', token: 'VARCHAR' } }),
     op('one_place', async function* (batches) {
       let n = 0n;
       for await (const { rowCount } of batches) n += BigInt(rowCount);
       yield { columns: { id: [n] } };
     }, { distribution: 'single' }),
     op('throws', each((batch, no) => { if (no === 2) throw new TypeError('no good'); return batch; }), { input: { id: 'BIGINT' } }),
     op('misspells', each(({ columns }) => ({ columns: { id: columns.idd } }))),
     op('throws_at_once', () => { throw new Error('not even once'); }),
     op('wrong_type', each(() => ({ columns: { id: ['abc'] } }))),
     op('more_columns', each(() => ({ columns: { id: [1n], x: [1] } }))),
     op('too_short', each(() => ({ rowCount: 3, columns: { id: [1n] } }))),
     op('yields_null', each(() => null)),
     op('exits', each(() => process.exit(3))),
     op('hogs', each(() => { const all = []; for (;;) all.push(new Float64Array(1e7).fill(1)); })),
     op('spins', each(() => { for (;;); })),
     defineFunction({ name: 'plus_one', input: { a: 'BIGINT' }, output: 'BIGINT', run: ({ columns }) => Array.from(columns.a, (a) => a + 1n) }),
     defineFunction({ name: 'net', input: { price: 'DECIMAL(10,2)', day: 'DATE' }, output: 'DECIMAL(10,2)',
       run: ({ columns: { price, day } }) => Array.from(price, (each, at) => (day[at] < '2026-01-01' ? each : '-' + each)) }),
     defineFunction({ name: 'widest', input: { box: 'STRUCT(w INTEGER, name VARCHAR)[]' }, output: 'STRUCT(w INTEGER, name VARCHAR)',
       run: ({ columns: { box } }) => Array.from(box, (each) => each.toSorted((a, b) => b.w - a.w)[0]) }),
     defineFunction({ name: 'bad_value', input: { a: 'BIGINT' }, output: 'BIGINT', run() { throw new RangeError('too far'); } }),
   ];
  `,
);

async function startWorker(id: string, args: readonly string[]): Promise<TestProcess> {
  const worker = TestProcess.start([
    ...['worker', '--server', bench.grpc, '--node-id', id, '--slots', '2', '--shuffle-by-network'],
    ...['--data', join(folder, id), '--memory', '1000000000', ...args],
  ]);
  await worker.line(new RegExp(`^millrace worker ready ${id}$`));
  return worker;
}

beforeAll(async () => {
  const body = "concat('a ', id % 7, CASE WHEN id % 3 = 0 THEN ' b c' ELSE '' END)";
  await writeParquet({
    [tables.docs]: `SELECT i AS id, i % 50 AS k, ${body.replaceAll('id', 'i')} AS body FROM range(30000) t(i)`,
  });
  bench = await openNode({ MILLRACE_MODULES: module, MILLRACE_MEMORY_BYTES: '1000000000' });
});

afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true });
});

async function get<T>(path: string): Promise<T> {
  return (await (await fetch(`${bench.url}/api/v1${path}`)).json()) as T;
}

const rows = (sql: string, settings: object = {}): Promise<unknown[][]> =>
  bench.rows({ sql, tables, settings });

const WORDS = "tokenize((SELECT id, body FROM docs), column => 'body')";
const UNNESTED = "(SELECT id, unnest(string_split(body, ' ')) AS token FROM docs)";

test.each([
  ['SELECT token, count(*), sum(id) FROM $ GROUP BY token ORDER BY token', {}],
  ['SELECT token, count(*), sum(id) FROM $ GROUP BY token ORDER BY token', DISTRIBUTED],
  ['SELECT count(*) FROM $ a JOIN docs d USING (id) WHERE a.token = d.k::VARCHAR', DISTRIBUTED],
  [
    "SELECT max(plus_one(id)) FROM docs WHERE id IN (SELECT id FROM $ AS t WHERE token = 'b')",
    DISTRIBUTED,
  ],
  [
    'WITH w AS (SELECT * FROM $ AS t) SELECT count(*), (SELECT min(token) FROM w) FROM w',
    DISTRIBUTED,
  ],
])('an operator returns what the same computation in SQL returns: %s %#', async (sql, settings) => {
  const own = await rows(sql.replaceAll('$', WORDS), settings);
  const oracle = sql.replaceAll('$', UNNESTED).replaceAll('plus_one(id)', 'id + 1');
  expect(own).toEqual(await rows(oracle));
  expect(own.length).toBeGreaterThan(0);
});

test('operators get the distribution that they declare, and may be nested', async () => {
  const counts = 'SELECT count(*), min(n), max(n), sum(n) FROM per_key((SELECT k FROM docs))';
  expect(await rows(counts, DISTRIBUTED)).toEqual([['50', '600', '600', '30000']]);
  const one = 'SELECT * FROM one_place((SELECT id FROM docs))';
  expect(await rows(one, DISTRIBUTED)).toEqual([['30000']]);
  const nested = `SELECT * FROM one_place((SELECT k AS id FROM per_key((SELECT k FROM docs)) WHERE k < 7))`;
  expect(await rows(nested, DISTRIBUTED)).toEqual([['7']]);
});

test('only workers that have the operator run its stage', async () => {
  await startWorker('plain', []);
  const { id } = await bench.run({
    sql: `SELECT count(*) FROM ${WORDS}`,
    tables,
    settings: DISTRIBUTED,
  });
  const { tasks } = await get<JobShape>(`/jobs/${id}`);
  const { body } = await bench.call('POST', '/explain', {
    sql: `SELECT count(*) FROM ${WORDS}`,
    tables,
    settings: DISTRIBUTED,
  });
  const { stages } = body.plan as unknown as { stages: { id: number; requires: string[] }[] };
  const needing = stages.filter(({ requires }) => requires.includes('tokenize'));
  expect(needing.map(({ requires }) => requires)).toEqual([['tokenize']]);
  const nodes = tasks
    .filter((task) => task.id.startsWith(`s${needing[0]!.id}.`))
    .map(({ node }) => node);
  expect(nodes).toHaveLength(4);
  for (const node of nodes) expect(node).toBe('solo');
});

const failed = async (sql: string, settings: object = {}): Promise<string> => {
  const query = await bench.run({ sql, tables, settings: { maxAttempts: 1, ...settings } });
  expect(query.state).toBe('failed');
  return `${query.error?.code}: ${query.error?.message}`;
};

test.each([
  ['throws', /operator_failed: The operator 'throws' has failed at batch 2: TypeError: no good/],
  [
    'throws_at_once',
    /The operator 'throws_at_once' has failed before its first batch: not even once/,
  ],
  [
    'wrong_type',
    /operator_invalid: .*'wrong_type'.* batch 1: .*row 0 of its column 'id' is "abc", not a BIGINT/,
  ],
  ['more_columns', /operator_invalid: .*batch 1: .*it has the column 'x', which is not declared/],
  ['too_short', /operator_invalid: .*its column 'id' has 1 values, not 3/],
  ['yields_null', /operator_invalid: .*it must be an object with columns/],
  [
    'misspells',
    /operator_invalid: .*batch 1: .*its input has no column 'idd'. Did you mean 'id'\? Its columns are id/,
  ],
  ['exits', /engine_crashed: The operator 'exits' has ended its process at batch 1/],
  ['hogs', /out_of_memory: The operator 'hogs' has run out of memory at batch 1/],
])('names the operator and the batch when it misbehaves: %s', async (name, message) => {
  expect(await failed(`SELECT count(*) FROM ${name}((SELECT id FROM docs))`)).toMatch(message);
});

test('a function that throws names itself, and one that never returns is ended with its query', async () => {
  expect(await failed('SELECT bad_value(id) FROM docs')).toMatch(
    /query_failed: The function 'bad_value' has failed: RangeError: too far/,
  );
  const spins = 'SELECT count(*) FROM spins((SELECT id FROM docs))';
  expect(await failed(spins, { timeoutMs: 3_000 })).toMatch(/^timeout/);
  expect(await rows('SELECT plus_one(1)')).toEqual([['2']]);
});

test('a function takes and returns every type, and binds by type', async () => {
  const sql = `SELECT net(price, day) AS n, (widest([{ w: 1, name: 'a' }, { w: id::INTEGER, name: price::VARCHAR }])).name AS w
    FROM (SELECT id, (id * 1.25)::DECIMAL(10,2) AS price, DATE '2025-12-31' + id::INTEGER AS day FROM docs WHERE id < 3)
    ORDER BY id`;
  const expected = [
    ['0.00', 'a'],
    ['-1.25', 'a'],
    ['-2.50', '2.50'],
  ];
  expect(await rows(sql)).toEqual(expected);
  expect(await rows(sql, DISTRIBUTED)).toEqual(expected);
  expect(await rows("SELECT net(NULL, NULL), net(2, DATE '2020-01-01')")).toEqual([[null, '2.00']]);
  const { body } = await bench.call('POST', '', { sql: 'SELECT net(true, id) FROM docs', tables });
  expect([body.code, body.detail]).toEqual([
    'bad_query',
    expect.stringMatching(/net.*does not support the supplied arguments/s),
  ]);
  // A plan as it is explained can be submitted again.
  const plain = "SELECT sum(net(id::DECIMAL(10,2), DATE '2020-01-01')) FROM docs";
  const { body: explained } = await bench.call('POST', '/explain', {
    sql: plain,
    tables,
    settings: DISTRIBUTED,
  });
  expect(await bench.rows({ plan: explained.plan, tables })).toEqual([['449985000.00']]);
});

test.each<[string, RegExp]>([
  [
    "SELECT * FROM tokenize((SELECT id FROM docs), colum => 'a')",
    /no parameter 'colum'. Did you mean 'column'/,
  ],
  [
    'SELECT * FROM tokenize((SELECT id FROM docs), column => 3)',
    /'column' of the operator tokenize must be a string, not 3/,
  ],
  ['SELECT * FROM tokenize((SELECT id FROM docs))', /'column' of the operator tokenize is missing/],
  ["SELECT * FROM tokenize(docs, column => 'body')", /must be a query in parentheses/],
  ['SELECT * FROM per_key((SELECT id FROM docs))', /has no column 'k'/],
  ['SELECT * FROM one_place((SELECT id, id FROM docs))', /two columns named 'id'/],
  [
    "SELECT * FROM tokenise((SELECT id FROM docs), column => 'a')",
    /The function tokenise cannot be used/,
  ],
  [`SELECT * FROM "tok""enize"((SELECT id FROM docs))`, /cannot be used in a query/],
])('refuses a call that cannot be: %s', async (sql, message) => {
  const { status, body } = await bench.call('POST', '', { sql, tables });
  expect([status, body.code]).toEqual([400, 'bad_query']);
  expect(body.detail).toMatch(message);
});

test('a submitted plan may call an operator, and what is wrong with the call is said by its path', async () => {
  const sql = 'SELECT id, body FROM docs';
  const { body } = await bench.call('POST', '/explain', { sql, tables, settings: DISTRIBUTED });
  const plan = structuredClone(body.plan) as unknown as PlanJson;
  const last = plan.stages.at(-1)!;
  const relation = last.fragment.scans[0]!.relation;
  const columns = [
    { name: 'c0', type: 'BIGINT' },
    { name: 'c1', type: 'VARCHAR' },
  ];
  plan.columns = [
    { name: 'id', type: 'BIGINT' },
    { name: 'token', type: 'VARCHAR' },
  ];
  const withCustom = (custom: object): object => ({
    ...plan,
    stages: [
      ...plan.stages.slice(0, -1),
      {
        ...last,
        fragment: { ...last.fragment, sql: 'SELECT c0, c1 FROM custom', columns, custom },
      },
    ],
  });
  const input = `SELECT c0 AS id, c1 AS body FROM ${relation}`;
  const custom = { op_name: 'tokenize', input, params: { column: 'body' } };
  const good = await bench.rows({ plan: withCustom(custom), tables });
  expect(good).toHaveLength(80_000);
  const at = `/plan/stages/${plan.stages.length - 1}/fragment/custom`;
  for (const [change, path, message] of [
    [{ op_name: 'tokenise' }, '/op_name', /no operator 'tokenise'. Did you mean 'tokenize'/],
    [{ params: { column: 3 } }, '/params', /must be a string, not 3/],
    [{ params: [] }, '/params', /Must be an object/],
    [{ input: 'SELECT * FROM nowhere' }, '/input', /nowhere/],
    [{ op_name: 'needs_k', params: {} }, '/input', /has no column 'k'/],
    [{ inputs: 1 }, '/inputs', /no such field/],
  ] as const) {
    const answer = await bench.call('POST', '', {
      plan: withCustom({ ...custom, ...change }),
      tables,
    });
    expect([answer.status, answer.body.path]).toEqual([400, at + path]);
    expect(answer.body.detail).toMatch(message);
  }
});

interface PlanJson {
  columns: object[];
  stages: { fragment: { scans: { relation: string }[] } }[];
}

test('a query waits for an operator that no worker has now, and runs when one comes back', async () => {
  const rare = join(folder, 'rare.mjs');
  writeFileSync(
    rare,
    `import { defineOperator } from ${JSON.stringify(MILLRACE)};
     export default defineOperator({ name: 'rare', output: { n: 'BIGINT' }, async *run(batches) {
       for await (const { rowCount } of batches) yield { columns: { n: [BigInt(rowCount)] } };
     } });`,
  );
  const first = await startWorker('rare-1', ['--module', rare]);
  const known = await get<{ operators: { name: string }[] }>('/operators');
  expect(known.operators.map(({ name }) => name)).toContain('rare');
  await first.stop();
  const sql = 'SELECT sum(n) FROM rare((SELECT id FROM docs))';
  const { body } = await bench.call('POST', '', { sql, tables });
  await until(
    async () => ((await bench.call('GET', `/${body.id}`)).body as Body & Waiting).waiting !== null,
    'the query to wait for its operator',
  );
  const shown = (await bench.call('GET', `/${body.id}`)).body as Body & Waiting;
  expect(shown.waiting?.why).toMatch(/lacks executor 'operator:rare'/);
  await startWorker('rare-2', ['--module', rare]);
  expect((await bench.call('GET', `/${body.id}?wait=60000`)).body.state).toBe('succeeded');
  expect((await bench.call('GET', `/${body.id}/results`)).body.rows).toEqual([['30000']]);
});

interface Waiting {
  readonly waiting: { readonly why: string } | null;
}

test('another declaration of a known operator is refused until the old one is forgotten', async () => {
  const other = join(folder, 'other.mjs');
  writeFileSync(
    other,
    `import { defineOperator } from ${JSON.stringify(MILLRACE)};
     export default defineOperator({ name: 'one_place', output: { id: 'VARCHAR' }, async *run() {} });`,
  );
  const args = ['worker', '--server', bench.grpc, '--node-id', 'other', '--module', other];
  const worker = TestProcess.start([...args, '--data', join(folder, 'other')]);
  await until(
    async () => /one_place' is known with another input, output/.test(worker.output.text()),
    'the worker to be refused',
  );
  const forget = await fetch(`${bench.url}/api/v1/operators/one_place`, { method: 'DELETE' });
  expect(forget.status).toBe(204);
  await worker.line(/^millrace worker ready other$/);
  const { operators } = await get<{ operators: { name: string; output: object[] }[] }>(
    '/operators',
  );
  expect(operators.find(({ name }) => name === 'one_place')?.output).toEqual([
    { name: 'id', type: 'VARCHAR' },
  ]);
});

test('a worker does not start without what it is expected to have, or with what cannot be', async () => {
  const start = (args: readonly string[]): TestProcess =>
    TestProcess.start(['worker', '--server', bench.grpc, '--data', join(folder, 'x'), ...args]);
  const missing = start(['--module', module, '--expect', 'tokenise']);
  expect((await missing.exited).code).toBe(2);
  expect(missing.output.text()).toMatch(
    /Expected but not registered on this worker: tokenise Did you mean 'tokenize'\?/,
  );
  const same = join(folder, 'same.mjs');
  writeFileSync(same, `export { all } from ${JSON.stringify(`./operators.mjs?again`)};`);
  const twice = start(['--module', module, '--module', same]);
  expect((await twice.exited).code).toBe(2);
  expect(twice.output.text()).toMatch(/defines the operator tokenize, and so does the module/);
  const nodes = await get<{ nodes: NodeShape[] }>('/nodes');
  expect(nodes.nodes.map(({ id }) => id)).toContain('solo');
});
