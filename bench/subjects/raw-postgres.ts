/**
 * The same rows written by hand into the barest PostgreSQL tables that can hold them: one statement
 * a table, arrays, in one pipelined transaction. Nothing is checked, no term, no constraints.
 */
import postgres from 'postgres';
import type { Batch } from '../../src/scheduler/core/index.ts';
import type { Subject } from './subject.ts';

type Cell = string | number | null;

const TABLES = `
  create schema raw;
  create table raw.job (no bigint primary key, id text, name text, state text)
    with (fillfactor = 50);
  create table raw.task (job_no bigint, task_no int, state text, session text, fence bigint,
    input text, result text, queued_at timestamptz, primary key (job_no, task_no))
    with (fillfactor = 40);
  create table raw.event (seq bigint primary key, at timestamptz, kind text, job_no bigint,
    task_no int);`;

const INSERT_JOB = `insert into raw.job
  select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[])`;
const INSERT_TASK = `insert into raw.task (job_no, task_no, state, input, queued_at)
  select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::timestamptz[])`;
const UPDATE_JOB = `update raw.job j set state = u.state
  from unnest($1::bigint[], $2::text[]) as u(no, state) where j.no = u.no`;
const UPDATE_TASK = `update raw.task t
  set state = u.state, session = u.session, fence = u.fence, result = u.result
  from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    as u(job_no, task_no, state, session, fence, result)
  where t.job_no = u.job_no and t.task_no = u.task_no`;
const INSERT_EVENT = `insert into raw.event
  select * from unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::bigint[], $5::int[])`;

export class RawPostgres implements Subject {
  readonly name: string = 'postgres, hand-written SQL';
  readonly #sql: postgres.Sql;

  private constructor(sql: postgres.Sql) {
    this.#sql = sql;
  }

  static async open(url: string): Promise<RawPostgres> {
    // A prepared statement keeps the plan it got when the tables were empty: without these it
    // scans the whole table for every batch, and the comparison would flatter the store.
    const connection = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
    const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {}, connection });
    await sql.unsafe(TABLES);
    return new RawPostgres(sql);
  }

  async commit(batch: Batch): Promise<void> {
    const { jobInserts, specInserts, taskInserts, jobUpdates, taskUpdates, results, events } =
      batch;
    const bodies = new Map(results.map((row) => [`${row.jobNo}/${row.taskNo}`, row.body]));
    await Promise.all([
      this.#sql.unsafe('begin'),
      this.#send(INSERT_JOB, jobInserts, ({ no, id, name, state }) => [no, id, name, state]),
      this.#send(INSERT_TASK, taskInserts, (row, at) => {
        const input = specInserts[at]?.input ?? null;
        return [row.jobNo, row.taskNo, row.state, input, time(row.queuedAt)];
      }),
      this.#send(UPDATE_JOB, jobUpdates, ({ no, state }) => [no, state]),
      this.#send(UPDATE_TASK, taskUpdates, (row) => {
        const body = bodies.get(`${row.jobNo}/${row.taskNo}`) ?? null;
        return [row.jobNo, row.taskNo, row.state, row.sessionId, row.fence, body];
      }),
      this.#send(INSERT_EVENT, events, (row) => {
        return [row.seq, time(row.at), row.kind, row.jobNo, row.taskNo];
      }),
      this.#sql.unsafe('commit'),
    ]);
  }

  async close(): Promise<void> {
    await this.#sql.end();
  }

  async #send<Row>(
    text: string,
    rows: readonly Row[],
    cells: (row: Row, at: number) => readonly Cell[],
  ): Promise<void> {
    if (rows.length === 0) return;
    const table = rows.map(cells);
    const width = table[0]?.length ?? 0;
    const columns = Array.from({ length: width }, (_, at) => table.map((row) => row[at] ?? null));
    await this.#sql.unsafe(text, columns.map(arrayLiteral), { prepare: true });
  }
}

/** The driver's own arrays are slow; a careful hand would not use them. */
function arrayLiteral(cells: readonly Cell[]): string {
  const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  const texts = cells.map((cell) => {
    if (cell === null) return 'NULL';
    return typeof cell === 'number' ? String(cell) : quoted(cell);
  });
  return `{${texts.join(',')}}`;
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
