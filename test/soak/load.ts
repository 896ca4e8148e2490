/** The mixed load of the soak: queries of several kinds, read to their last row, and plain jobs beside them. */
import { DuckDBInstance } from '@duckdb/node-api';

export interface Load {
  readonly queries: number;
  readonly jobs: number;
}

/** Two tables that are large enough to be split. */
export async function makeTables(folder: string): Promise<Readonly<Record<string, string>>> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const tables = { orders: `${folder}/orders.parquet`, people: `${folder}/people.parquet` };
  await connection.run(
    `COPY (SELECT i AS id, i % 977 AS person, i % 100 / 4.0 AS price, 'text ' || i % 5000 AS note FROM range(200000) t(i))
       TO '${tables.orders}' (FORMAT parquet, ROW_GROUP_SIZE 20000);
     COPY (SELECT i AS id, 'person ' || i AS name FROM range(977) t(i)) TO '${tables.people}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  return tables;
}

/** `n` makes each text another one, so that it is planned and not remembered. */
const QUERIES: readonly ((n: number) => string)[] = [
  (n) => `select person % 10 as g, sum(price) + ${n} as s from orders group by g order by g`,
  () => 'select name, count(*) as n from orders join people on people.id = person group by name',
  (n) => `select * from orders where id between ${n % 1000} and ${(n % 1000) + 2000}`,
  () => 'select note, max(price) as p from orders group by note order by p, note limit 50',
  (n) => `select ${n} as one`,
  () => 'select no_such_column from orders',
];

const FORMATS = ['json', 'ndjson', 'csv', 'parquet'] as const;

async function post(url: string, body: unknown): Promise<Record<string, unknown> | null> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return response.ok ? answer : null;
}

async function query(server: string, tables: object, n: number): Promise<void> {
  const sql = QUERIES[n % QUERIES.length]?.(n);
  // Split, whatever its size, every other time.
  const settings = n % 2 === 0 ? { singleFragmentBytes: 0, shufflePartitions: 3 } : {};
  const made = await post(`${server}/api/v1/queries`, { sql, tables, settings });
  if (made === null) return;
  const at = `${server}/api/v1/queries/${String(made['id'])}`;
  for (;;) {
    const seen = (await (await fetch(`${at}?wait=10000`)).json()) as { readonly state: string };
    if (seen.state === 'succeeded') break;
    if (seen.state === 'failed' || seen.state === 'cancelled')
      throw new Error(`a query of the soak ended: ${JSON.stringify(seen)}`);
  }
  const rows = await fetch(`${at}/results?format=${FORMATS[n % FORMATS.length] ?? 'json'}`);
  await rows.arrayBuffer();
  if (!rows.ok) throw new Error(`the rows of a query of the soak: ${rows.status}`);
}

async function job(server: string, n: number): Promise<void> {
  const tasks = [
    { id: 'a', executor: 'echo', input: { n, text: 'x'.repeat(4_000) } },
    { id: 'b', executor: 'echo', dependsOn: ['a'], input: { $from: 'a', path: '/n' } },
  ];
  await post(`${server}/api/v1/jobs`, { name: `soak-${n % 7}`, tasks });
}

/** One part of the load after the other in each of some lanes, until asked to stop. */
export async function load(server: string, tables: object, isOver: () => boolean): Promise<Load> {
  let [queries, jobs] = [0, 0];
  const lane = async (one: (n: number) => Promise<void>): Promise<void> => {
    while (!isOver()) await one(0);
  };
  const asking = (): Promise<void> => query(server, tables, queries++);
  const submitting = (): Promise<void> => job(server, jobs++);
  await Promise.all([lane(asking), lane(asking), lane(submitting)]);
  return { queries, jobs };
}
