/** Puts the rows of a dump into an empty database, in one transaction. */
import { type EventRow, isMillraceError, type MillraceError } from '../../core/index.ts';
import { chunksOf } from '../event-chunk.ts';
import { notEmpty } from '../refusals.ts';
import { badRow, checkEvent } from '../row-checks.ts';
import type { Dumped } from '../store.ts';
import type { Codec } from './codec.ts';
import { connectOnce, type ConnectionSettings, type Run } from './connection.ts';
import { type Table, TABLES } from './dump.ts';
import { unavailable, writeFailure } from './failure.ts';
import { chunks } from './rows.ts';

const ROWS_AT_ONCE = 1_000;
const CHUNKS = { sqlName: 'event_chunk', codec: chunks } as const;

type Counters = Extract<Dumped, { readonly table: 'counters' }>['row'];

export async function fillEmpty(
  settings: ConnectionSettings,
  dumped: AsyncIterable<Dumped>,
): Promise<number> {
  const connection = connectOnce(settings, {});
  const run: Run = (statement, parameters) =>
    connection.run(statement, parameters).catch((cause: unknown) => {
      throw failureBeforeCommit(cause);
    });
  try {
    await connection.begin().catch((cause: unknown) => {
      throw failureBeforeCommit(cause);
    });
    const count = await new Filling(run).take(dumped);
    if (connection.isLost()) throw unavailable(new Error('the connection was lost'));
    await connection.run('commit', []).catch((cause: unknown) => {
      throw writeFailure(cause);
    });
    return count;
  } finally {
    await connection.end();
  }
}

/** Whatever it was, the transaction is rolled back. */
function failureBeforeCommit(cause: unknown): MillraceError {
  const failure = writeFailure(cause);
  return isMillraceError(failure, 'outcome_unknown') ? unavailable(cause) : failure;
}

class Filling {
  readonly #run: Run;
  readonly #shards: Set<number> = new Set();
  #counters: Counters | null = null;
  #table: Dumped['table'] = 'counters';
  #rows: unknown[] = [];

  constructor(run: Run) {
    this.#run = run;
  }

  async take(dumped: AsyncIterable<Dumped>): Promise<number> {
    await this.#refuseUnlessEmpty();
    let count = 0;
    for await (const { table, row } of dumped) {
      count += 1;
      if (table !== this.#table || this.#rows.length === ROWS_AT_ONCE) await this.#flush();
      this.#table = table;
      if (table === 'counters') await this.#begin(row);
      else this.#rows.push(row);
      // Inside a chunk the server cannot look after them.
      if (table === 'event') checkEvent(row);
    }
    await this.#end();
    return count;
  }

  /** No leader may start, and no job may be submitted, before all rows are there. */
  async #refuseUnlessEmpty(): Promise<void> {
    await this.#run('lock table millrace.leader, millrace.inbox in exclusive mode', []);
    const filled = [...Object.values(TABLES), CHUNKS].map(
      ({ sqlName }) => `exists (select from millrace.${sqlName})`,
    );
    const [row] = await this.#run(
      `select ${filled.join(' or ')}
         or exists (select from millrace.leader where last_seq > 0 or next_job_no > 1) as filled`,
      [],
    );
    if (row?.['filled'] === true) throw notEmpty();
  }

  async #begin(counters: Counters): Promise<void> {
    await this.#end();
    const { shard, lastSeq, nextJobNo } = counters;
    if (this.#shards.has(shard)) throw badRow(`shard ${shard}`, 'it came twice');
    this.#shards.add(shard);
    this.#counters = counters;
    await this.#run(
      `insert into millrace.leader (shard, epoch, term, node_id, expires_at, released, last_seq, next_job_no)
         values ($1, 0, '', '', now(), true, $2, $3)
         on conflict (shard) do update set last_seq = excluded.last_seq, next_job_no = excluded.next_job_no`,
      [shard, lastSeq, nextJobNo],
    );
  }

  async #flush(): Promise<void> {
    if (this.#rows.length === 0 || this.#table === 'counters') return;
    const rows = this.#rows;
    this.#rows = [];
    if (this.#table === 'event') await this.#insert(CHUNKS, chunksOf(rows as EventRow[]));
    else await this.#insert(TABLES[this.#table], rows);
  }

  async #insert(table: Pick<Table, 'sqlName'>, rows: readonly unknown[]): Promise<void> {
    const { sqlName, codec } = table as { sqlName: string; codec: Codec<unknown> };
    const { shard } = this.#countersFor(sqlName);
    const names = codec.columns.map(({ name }) => name).join(', ');
    const arrays = codec.columns.map(({ type }, at) => `$${at + 2}::${type}[]`).join(', ');
    const values = codec.columns.map(({ name, cast }) =>
      cast === undefined ? `u.${name}` : `u.${name}::${cast}`,
    );
    await this.#run(
      `insert into millrace.${sqlName} (shard, ${names})
         select $1, ${values.join(', ')} from unnest(${arrays}) as u(${names})`,
      [shard, ...codec.encode(rows)],
    );
  }

  #countersFor(table: string): Counters {
    if (this.#counters === null) throw badRow(`a row of ${table}`, 'no counters came before it');
    return this.#counters;
  }

  /** What only the whole of a shard can show. */
  async #end(): Promise<void> {
    await this.#flush();
    if (this.#counters === null) return;
    const { shard, lastSeq, nextJobNo } = this.#counters;
    const [row] = await this.#run(CHECK, [shard, nextJobNo]);
    const first = (row?.['first_seq'] as number | null) ?? lastSeq + 1;
    const last = (row?.['last_seq'] as number | null) ?? lastSeq;
    if (last !== lastSeq || row?.['gap'] === true) {
      throw badRow(`the log of shard ${shard}`, `it has a gap or does not end at ${lastSeq}`);
    }
    if (row?.['stray'] === true) {
      throw badRow(`shard ${shard}`, 'a job number is too high, or a row has no job or no task');
    }
    const kept = await this.#run(
      'update millrace.leader set first_seq = $2 where shard = $1 returning shard',
      [shard, first],
    );
    if (kept.length !== 1) throw unavailable(new Error(`the counters of shard ${shard} are gone`));
    await this.#run(
      `insert into millrace.job_live (shard, no, priority)
         select shard, no, priority from millrace.job where shard = $1 and finished_at is null`,
      [shard],
    );
    await this.#run(
      `insert into millrace.job_label (shard, job_no, label)
         select shard, no, unnest(labels) from millrace.job where shard = $1 and labels <> '{}'`,
      [shard],
    );
    await this.#run(
      `select setval(pg_get_serial_sequence('millrace.inbox', 'no'), max(no)) from millrace.inbox`,
      [],
    );
  }
}

const without = (table: string, other: string, join: string): string =>
  `exists (select from millrace.${table} a where a.shard = $1 and not exists (
     select from millrace.${other} b where b.shard = a.shard and ${join}))`;
const SAME_TASK = 'b.job_no = a.job_no and b.task_no = a.task_no';

const CHECK = `
  select min(c.first_seq) as first_seq, max(c.last_seq) as last_seq,
         bool_or(c.first_seq <> c.before + 1) as gap,
         exists (select from millrace.job where shard = $1 and no >= $2)
         or ${without('task_spec', 'job', 'b.no = a.job_no')}
         or ${without('task_spec', 'task', SAME_TASK)}
         or ${without('task', 'task_spec', SAME_TASK)}
         or ${without('task_history', 'task', SAME_TASK)}
         or ${without('task_result', 'task', SAME_TASK)}
         or ${without('task_step', 'task', SAME_TASK)}
         or ${without('signal', 'job', 'b.no = a.job_no')} as stray
    from (
      select first_seq, last_seq, lag(last_seq) over (order by last_seq) as before
        from millrace.event_chunk where shard = $1) c`;
