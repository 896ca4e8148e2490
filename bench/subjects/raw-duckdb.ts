/** The same rows written by hand into the barest DuckDB tables that can hold them. */
import {
  BIGINT,
  DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api';
import type { Batch } from '../../src/scheduler/core/index.ts';
import type { Subject } from './subject.ts';

type Cells = readonly (readonly [DuckDBType, readonly DuckDBValue[]])[];

/** Bare tables, one writer, nothing checked, nothing generic. */
export class RawDuckdb implements Subject {
  readonly name: string = 'duckdb, hand-written SQL';
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(path: string): Promise<RawDuckdb> {
    const instance = await DuckDBInstance.create(path, { threads: '1' });
    const connection = await instance.connect();
    await connection.run(`
      create table job (no bigint, id varchar, name varchar, priority integer, created_at bigint,
        state varchar, run integer, task_count integer, finished_at bigint);
      create table spec (job_no bigint, task_no integer, id varchar, executor varchar, input varchar);
      create table task (job_no bigint, task_no integer, state varchar, run integer,
        attempt integer, fence integer, term varchar, node_id varchar, session_id varchar,
        queued_at bigint, started_at bigint, finished_at bigint);
      create table result (job_no bigint, task_no integer, run integer, body varchar);
      create table event (seq bigint, happened_at bigint, kind varchar, job_no bigint,
        task_no integer, run integer, attempt integer, fence integer);
      create temp table stage_task as from task;
      create temp table stage_job (no bigint, state varchar, finished_at bigint);`);
    return new RawDuckdb(instance, connection);
  }

  async commit(batch: Batch): Promise<void> {
    const connection = this.#connection;
    await connection.run('begin');
    await this.#jobs(batch);
    await this.#append('spec', null, [
      [BIGINT, batch.specInserts.map((row) => BigInt(row.jobNo))],
      [INTEGER, batch.specInserts.map((row) => row.taskNo)],
      [VARCHAR, batch.specInserts.map((row) => row.id)],
      [VARCHAR, batch.specInserts.map((row) => row.executor)],
      [VARCHAR, batch.specInserts.map((row) => row.input)],
    ]);
    await this.#tasks('task', null, batch.taskInserts);
    await this.#tasks('stage_task', 'temp', batch.taskUpdates);
    if (batch.taskUpdates.length > 0) {
      await connection.run(
        `update task t set state = s.state, run = s.run, attempt = s.attempt, fence = s.fence,
           term = s.term, node_id = s.node_id, session_id = s.session_id, queued_at = s.queued_at,
           started_at = s.started_at, finished_at = s.finished_at
         from stage_task s where t.job_no = s.job_no and t.task_no = s.task_no`,
      );
      await connection.run('truncate stage_task');
    }
    await this.#append('result', null, [
      [BIGINT, batch.results.map((row) => BigInt(row.jobNo))],
      [INTEGER, batch.results.map((row) => row.taskNo)],
      [INTEGER, batch.results.map((row) => row.run)],
      [VARCHAR, batch.results.map((row) => row.body)],
    ]);
    await this.#append('event', null, [
      [BIGINT, batch.events.map((row) => BigInt(row.seq))],
      [BIGINT, batch.events.map((row) => BigInt(row.at))],
      [VARCHAR, batch.events.map((row) => row.kind)],
      [BIGINT, batch.events.map((row) => big(row.jobNo))],
      [INTEGER, batch.events.map((row) => row.taskNo)],
      [INTEGER, batch.events.map((row) => row.run)],
      [INTEGER, batch.events.map((row) => row.attempt)],
      [INTEGER, batch.events.map((row) => row.fence)],
    ]);
    await connection.run('commit');
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #jobs({ jobInserts, jobUpdates }: Batch): Promise<void> {
    await this.#append('job', null, [
      [BIGINT, jobInserts.map((row) => BigInt(row.no))],
      [VARCHAR, jobInserts.map((row) => row.id)],
      [VARCHAR, jobInserts.map((row) => row.name)],
      [INTEGER, jobInserts.map((row) => row.priority)],
      [BIGINT, jobInserts.map((row) => BigInt(row.createdAt))],
      [VARCHAR, jobInserts.map((row) => row.state)],
      [INTEGER, jobInserts.map((row) => row.run)],
      [INTEGER, jobInserts.map((row) => row.taskCount)],
      [BIGINT, jobInserts.map((row) => big(row.finishedAt))],
    ]);
    if (jobUpdates.length === 0) return;
    await this.#append('stage_job', 'temp', [
      [BIGINT, jobUpdates.map((row) => BigInt(row.no))],
      [VARCHAR, jobUpdates.map((row) => row.state)],
      [BIGINT, jobUpdates.map((row) => big(row.finishedAt))],
    ]);
    await this.#connection.run(
      `update job t set state = s.state, finished_at = s.finished_at from stage_job s
        where t.no = s.no`,
    );
    await this.#connection.run('truncate stage_job');
  }

  async #tasks(table: string, catalog: string | null, rows: Batch['taskUpdates']): Promise<void> {
    await this.#append(table, catalog, [
      [BIGINT, rows.map((row) => BigInt(row.jobNo))],
      [INTEGER, rows.map((row) => row.taskNo)],
      [VARCHAR, rows.map((row) => row.state)],
      [INTEGER, rows.map((row) => row.run)],
      [INTEGER, rows.map((row) => row.attempt)],
      [INTEGER, rows.map((row) => row.fence)],
      [VARCHAR, rows.map((row) => row.term)],
      [VARCHAR, rows.map((row) => row.nodeId)],
      [VARCHAR, rows.map((row) => row.sessionId)],
      [BIGINT, rows.map((row) => big(row.queuedAt))],
      [BIGINT, rows.map((row) => big(row.startedAt))],
      [BIGINT, rows.map((row) => big(row.finishedAt))],
    ]);
  }

  async #append(table: string, catalog: string | null, columns: Cells): Promise<void> {
    const count = columns[0]?.[1].length ?? 0;
    if (count === 0) return;
    const appender = await this.#connection.createAppender(table, null, catalog);
    for (let from = 0; from < count; from += 2_048) {
      const types = columns.map(([type]) => type);
      const chunk = DuckDBDataChunk.create(types, Math.min(2_048, count - from));
      chunk.setColumns(columns.map(([, cells]) => cells.slice(from, from + 2_048)));
      appender.appendDataChunk(chunk);
    }
    appender.closeSync();
  }
}

const big = (value: number | null): bigint | null => (value === null ? null : BigInt(value));
