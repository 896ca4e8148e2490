/** Moving: every row out, in the port's order, and every row in, in one transaction. */
import { jobNo } from '../../core/index.ts';
import { chunksOf, eventsIn } from '../event-chunk.ts';
import { notEmpty } from '../refusals.ts';
import { badRow } from '../row-checks.ts';
import type { Dumped } from '../store.ts';
import { rowOf, type Table } from './columns.ts';
import { checkDumped } from '../dump-checks.ts';
import { columnList, insertRows } from './rows.ts';
import { type Session } from './session.ts';
import type { Shards } from './shards.ts';
import * as tables from './tables.ts';
import { inTransaction } from './transaction.ts';

type Kind = Exclude<Dumped['table'], 'counters' | 'event'>;

/** In the order of the port, each with what makes a row of it unique. */
const MOVED: readonly (readonly [Kind, Table<never>, readonly string[]])[] = [
  ['job', tables.JOB, ['no']],
  ['spec', tables.SPEC, ['job_no', 'task_no']],
  ['task', tables.TASK, ['job_no', 'task_no']],
  ['history', tables.HISTORY, ['job_no', 'task_no', 'run']],
  ['result', tables.RESULT, ['job_no', 'task_no', 'run']],
  ['step', tables.STEP, ['job_no', 'task_no', 'run', 'name']],
  ['signal', tables.SIGNAL, ['job_no', 'no']],
  ['key', tables.KEY, ['scope']],
  ['node', tables.NODE, ['id']],
  ['schedule', tables.SCHEDULE, ['id']],
  ['limit', tables.LIMIT, ['id']],
  ['operator', tables.DECLARATIONS.operator, ['id']],
  ['flow', tables.DECLARATIONS.flow, ['id']],
  ['inbox', tables.INBOX, ['no']],
];

const PORTION = 2_000;

/** One transaction: it shows one moment, also when the reader takes its time. */
export async function* dumpStore(session: Session): AsyncGenerator<Dumped> {
  await session.run('begin');
  const shards = (await session.rows(
    `select s.shard,
            greatest(s.last_seq, (select max(last_seq) from event_chunk e where e.shard = s.shard)),
            greatest(s.next_job_no, (select max(no) + 1 from job j where j.shard = s.shard)),
            s.first_seq
       from shard s order by s.shard`,
  )) as number[][];
  for (const [shard = 0, lastSeq = 0, next = 1, firstSeq = 1] of shards) {
    yield { table: 'counters', row: { shard, lastSeq, nextJobNo: jobNo(next) } };
    for (const [kind, table, keys] of MOVED) {
      const rows = allRows(session, table, keys, shard);
      for await (const row of rows) yield { table: kind, row };
    }
    for await (const chunk of allRows(session, tables.EVENT_CHUNK, ['last_seq'], shard)) {
      for (const row of eventsIn(chunk)) if (row.seq >= firstSeq) yield { table: 'event', row };
    }
  }
  await session.run('commit');
}

async function* allRows<Row>(
  session: Session,
  table: Table<Row>,
  keys: readonly string[],
  shard: number,
): AsyncGenerator<Row> {
  const order = keys.map((key) => `t.${key}`).join(', ');
  const sql = `select ${columnList(table)} from ${table.name} t
                where t.shard = $1::integer order by ${order}`;
  for await (const portion of session.stream(sql, shard)) {
    for (const cells of portion) yield rowOf(table, cells);
  }
}

export async function fillStore(
  session: Session,
  shards: Shards,
  rows: AsyncIterable<Dumped>,
): Promise<number> {
  const count = await inTransaction(session, async () => {
    await refuseUnlessEmpty(session);
    const filling = new Filling(session, shards);
    for await (const row of rows) await filling.take(row);
    await filling.flush();
    await checkWhole(session);
    await session.run(FIRST_SEQ);
    return filling.rows;
  });
  await shards.load(session);
  return count;
}

const FIRST_SEQ = `update shard set first_seq = e.first_seq
  from (select shard, min(first_seq) as first_seq from event_chunk group by shard) e
 where e.shard = shard.shard`;

async function refuseUnlessEmpty(session: Session): Promise<void> {
  const names = [...MOVED.map(([, table]) => table.name), tables.EVENT_CHUNK.name];
  const counts = names.map((name) => `(select count(*) from ${name})`).join(' + ');
  const used = await session.rows(
    `select ${counts} + (select count(*) from shard where last_seq > 0 or next_job_no > 1)`,
  );
  if (used[0]?.[0] !== 0) throw notEmpty();
  await session.run('delete from shard');
}

/** Rows of one table and shard are collected and written together. */
class Filling {
  rows = 0;
  readonly #session: Session;
  readonly #shards: Shards;
  #shard: number | null = null;
  #table: Table<never> | null = null;
  #pending: never[] = [];
  #keyNo = 0;

  constructor(session: Session, shards: Shards) {
    this.#session = session;
    this.#shards = shards;
  }

  async take(item: Dumped): Promise<void> {
    this.rows += 1;
    checkDumped(item);
    if (item.table === 'counters') {
      await this.#open(item.row);
      return;
    }
    if (this.#shard === null) throw badRow(`a row of ${item.table}`, 'no counters came before it');
    const table = MOVED.find(([kind]) => kind === item.table)?.[1] ?? tables.EVENT_CHUNK;
    if (table !== this.#table || this.#pending.length >= PORTION) await this.flush();
    this.#table = table;
    this.#pending.push(this.#stored(item) as never);
  }

  async flush(): Promise<void> {
    const rows = this.#pending;
    this.#pending = [];
    if (this.#table === null || this.#shard === null) return;
    if (this.#table === tables.EVENT_CHUNK) {
      await insertRows(this.#session, tables.EVENT_CHUNK, this.#shard, chunksOf(rows));
    } else await insertRows(this.#session, this.#table, this.#shard, rows);
  }

  #stored(item: Exclude<Dumped, { table: 'counters' }>): object {
    if (item.table !== 'key') return item.row;
    this.#keyNo += 1;
    return { ...item.row, no: this.#keyNo };
  }

  async #open(row: Extract<Dumped, { table: 'counters' }>['row']): Promise<void> {
    await this.flush();
    this.#shard = row.shard;
    await this.#session.run(
      `insert into shard (shard, epoch, term, last_seq, next_job_no, first_seq, commit_no)
         values ($1::integer, 0, $2, $3::bigint, $4::bigint, $3::bigint + 1, $5::bigint)`,
      row.shard,
      '',
      row.lastSeq,
      row.nextJobNo,
      this.#shards.get(row.shard).commitNo,
    );
  }
}

/** What only the whole can show. Each question answers one offender. */
const QUESTIONS: readonly (readonly [string, string])[] = [
  ...[...MOVED.map(([, table, keys]) => [table.name, keys] as const), ['shard', []] as const].map(
    ([name, keys]) =>
      [
        `a row of ${name} that came twice`,
        `select ${['shard', ...keys].join(", '/', ")} from ${name} group by all having count(*) > 1`,
      ] as const,
  ),
  ['a job id that came twice', 'select id from job group by shard, id having count(*) > 1'],
  [
    'an idempotency key that came twice',
    `select idempotency_key from job where idempotency_key is not null
      group by shard, idempotency_key having count(*) > 1`,
  ],
  [
    'a task id that came twice',
    'select id from spec group by shard, job_no, id having count(*) > 1',
  ],
  [
    'a task without its spec, or the other way round',
    `select coalesce(t.job_no, s.job_no) from task t full join spec s
         on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
      where s.job_no is null or t.job_no is null`,
  ],
  [
    'a signal id that came twice',
    'select id from signal group by shard, job_no, id having count(*) > 1',
  ],
  [
    'a signal without its job',
    'select s.job_no from signal s anti join job j on j.shard = s.shard and j.no = s.job_no',
  ],
  [
    'a task without its job',
    'select s.job_no from spec s anti join job j on j.shard = s.shard and j.no = s.job_no',
  ],
  ...['history', 'result', 'step'].map(
    (name) =>
      [
        `a row of ${name} without its task`,
        `select c.job_no from ${name} c anti join task t
             on t.shard = c.shard and t.job_no = c.job_no and t.task_no = c.task_no`,
      ] as const,
  ),
  [
    'a job number that is not below nextJobNo',
    'select j.no from job j join shard s on s.shard = j.shard where j.no >= s.next_job_no',
  ],
  [
    'a gap in the events, or an end before lastSeq',
    `select s.shard from shard s join (
         select shard, first_seq, last_seq,
                lag(last_seq) over (partition by shard order by last_seq) as before
           from event_chunk) e on e.shard = s.shard
      group by s.shard, s.last_seq
      having max(e.last_seq) <> s.last_seq or bool_or(e.first_seq <> e.before + 1)`,
  ],
];

async function checkWhole(session: Session): Promise<void> {
  for (const [what, sql] of QUESTIONS) {
    const found = await session.rows(`${sql} limit 1`);
    if (found[0] !== undefined) throw badRow(what, `found at ${found[0].join('')}`);
  }
}
