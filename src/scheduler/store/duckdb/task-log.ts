/** The log lines of tasks. Each call has a connection of its own: commits never wait for it. */
import { instant } from '../../core/index.ts';
import type { Instant, JobId, TaskId } from '../../core/index.ts';
import type { LogFilter, LogLevel, LogRow, NumberedLogRow, TaskLogStore } from '../task-log.ts';
import { type Cell, field, type Table } from './columns.ts';
import { insertRows } from './rows.ts';
import type { Session } from './session.ts';
import { inTransaction } from './transaction.ts';

/** Runs `use` on a connection that is closed afterwards. */
export type WithSession = <T>(use: (session: Session) => Promise<T>) => Promise<T>;

interface WrittenRow extends NumberedLogRow {
  readonly writtenAt: Instant;
}

const TASK_LOG: Table<WrittenRow> = {
  name: 'task_log',
  columns: [
    field('seq', 'bigint'),
    field('jobId', 'varchar'),
    field('taskId', 'varchar'),
    field('attempt', 'integer'),
    { ...field<WrittenRow>('at', 'bigint'), name: 'at_ms' },
    field('level', 'varchar'),
    field('message', 'varchar'),
    field('fields', 'varchar'),
    { ...field<WrittenRow>('writtenAt', 'bigint'), name: 'written_ms' },
  ],
};

export class DuckdbTaskLog implements TaskLogStore {
  readonly #with: WithSession;
  readonly #now: () => Instant;
  /** The last number in use, over all jobs: this process alone writes. */
  #last: number | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(withSession: WithSession, now: () => Instant) {
    this.#with = withSession;
    this.#now = now;
  }

  append(shard: number, rows: readonly LogRow[]): Promise<void> {
    if (rows.length === 0) return Promise.resolve();
    return this.#exclusively((session) =>
      inTransaction(session, async () => {
        this.#last ??= await lastSeq(session);
        const from = this.#last + 1;
        const writtenAt = this.#now();
        const written = rows.map((row, index) => ({ ...row, seq: from + index, writtenAt }));
        this.#last += rows.length;
        await insertRows(session, TASK_LOG, shard, written);
      }),
    );
  }

  read(
    shard: number,
    { jobId, after, limit, taskId, attempt }: LogFilter,
  ): Promise<readonly NumberedLogRow[]> {
    return this.#with(async (session) => {
      const found = await session.rows(
        `select seq, task_id, attempt, at_ms, level, message, fields from task_log
         where shard = $1::integer and job_id = $2 and seq > $3
           and ($4::varchar is null or task_id = $4) and ($5::integer is null or attempt = $5)
         order by seq limit $6::bigint`,
        ...[shard, jobId, after, taskId ?? null, attempt ?? null, limit],
      );
      return found.map((cells) => rowOf(jobId, cells));
    });
  }

  prune(shard: number, quietMs: number): Promise<boolean> {
    return this.#exclusively((session) =>
      inTransaction(session, async () => {
        await session.run(
          `delete from task_log where shard = $1::integer and job_id in (
             select l.job_id from task_log l where l.shard = $1::integer
               and not exists (select 1 from job j where j.shard = l.shard and j.id = l.job_id)
             group by l.job_id having max(l.written_ms) < $2)`,
          ...[shard, this.#now() - quietMs],
        );
        return false;
      }),
    );
  }

  remove(shard: number, jobId: JobId): Promise<void> {
    return this.#exclusively((session) =>
      inTransaction(session, async () => {
        const lines = 'delete from task_log where shard = $1::integer and job_id = $2';
        await session.run(lines, shard, jobId);
      }),
    );
  }

  /** What is being written. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  #exclusively<T>(use: (session: Session) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => this.#with(use));
    this.#turn = turn.catch(() => {});
    return turn;
  }
}

async function lastSeq(session: Session): Promise<number> {
  const [[last] = []] = await session.rows('select coalesce(max(seq), 0) from task_log');
  return Number(last);
}

function rowOf(jobId: JobId, cells: readonly Cell[]): NumberedLogRow {
  const [seq, taskId, attempt, at, level, message, fields] = cells;
  return {
    jobId,
    seq: Number(seq),
    taskId: String(taskId) as TaskId,
    attempt: Number(attempt),
    at: instant(Number(at)),
    level: String(level) as LogLevel,
    message: String(message),
    fields: fields === null || fields === undefined ? null : String(fields),
  };
}
