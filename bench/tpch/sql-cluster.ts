/** A leader on PostgreSQL and workers, for queries, and DuckDB in this process beside them. */
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { connect } from '../../src/client/millrace.ts';
import type { Client, SqlRow } from '../../src/client/millrace.ts';
import { freePort } from '../../test/rig/cluster/free-port.ts';
import { call, runQuery } from '../../test/sql/query-client.ts';
import type { QuerySeen } from '../../test/sql/query-client.ts';
import type { Answer } from '../../test/sql/contract-values.ts';
import { BenchDatabase } from '../cluster/database.ts';
import { Folder, startLeader, startWorker } from '../cluster/node.ts';
import type { RunningNode } from '../cluster/node.ts';
import { treeCpuSeconds } from '../cluster/proc.ts';
import type { BenchProcess } from '../cluster/processes.ts';

export interface SqlClusterOptions {
  readonly workers: number;
  readonly slots: number;
  /** By table. */
  readonly tables: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Tasks that the workers run beside queries. */
  readonly module?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

interface Submitted {
  readonly id: string;
  readonly state: string;
  /** Missing if it is not small, or took too long. */
  readonly result?: Answer;
}

export interface AnsweredQuery {
  readonly id: string;
  readonly answer: Answer;
}

const WAIT_MS = 20_000;

export class SqlCluster {
  /** Where jobs are submitted over gRPC. */
  readonly grpc: string;
  readonly #close: () => Promise<void>;
  readonly #url: string;
  readonly #tables: SqlClusterOptions['tables'];
  readonly #workers: readonly BenchProcess[];
  #client: Client | null = null;

  private constructor(
    close: () => Promise<void>,
    leader: Pick<RunningNode, 'url' | 'grpc'>,
    tables: SqlClusterOptions['tables'],
    workers: readonly BenchProcess[],
  ) {
    this.#workers = workers;
    this.#close = close;
    this.#url = leader.url;
    this.grpc = leader.grpc;
    this.#tables = tables;
  }

  static async start(options: SqlClusterOptions): Promise<SqlCluster> {
    const { workers, slots, tables, args = [], module, environment } = options;
    const tasks = { ...(module && { module }), ...(environment && { environment }) };
    const database = await BenchDatabase.start('plain');
    const folder = new Folder();
    const running: BenchProcess[] = [];
    const close = async (): Promise<void> => {
      for (const process of running.toReversed()) await process.end();
      await database.stop();
      folder.remove();
    };
    try {
      const leader = await startLeader({ database: await database.create('millrace'), folder });
      running.push(leader.process);
      for (let at = 0; at < workers; at += 1) {
        const listen = ['--listen', `127.0.0.1:${await freePort()}`];
        const nodeId = `w-${at}`;
        const own = { servers: [leader.grpc], nodeId, slots, folder, args: [...listen, ...args] };
        running.push(await startWorker({ ...own, ...tasks }));
      }
      return new SqlCluster(close, leader, tables, running.slice(1));
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** From the submission to the last row. */
  run(
    sql: string,
    settings: Readonly<Record<string, number>> = {},
    seen?: (query: QuerySeen) => void,
  ): Promise<Answer> {
    return runQuery(this.#url, { sql, tables: this.#tables, settings }, seen);
  }

  /** In as few calls as the SDK needs: the first one waits, and a small result is part of its answer. */
  async answer(sql: string): Promise<AnsweredQuery> {
    const path = `/api/v1/queries?wait=${WAIT_MS}`;
    const asked = { sql, tables: this.#tables };
    const { id, state, result } = await call<Submitted>(this.#url, 'POST', path, asked);
    if (result !== undefined) return { id, answer: result };
    if (state !== 'succeeded')
      await call(this.#url, 'GET', `/api/v1/queries/${id}?wait=${WAIT_MS}`);
    return {
      id,
      answer: await call(this.#url, 'GET', `/api/v1/queries/${id}/results?format=json`),
    };
  }

  /** A query as the job that it is. */
  job<T>(id: string): Promise<T> {
    return call(this.#url, 'GET', `/api/v1/jobs/${id}`);
  }

  /** With the SDK, as a program would. */
  async rows(sql: string): Promise<readonly SqlRow[]> {
    this.#client ??= connect(this.#url);
    return this.#client.sql(sql, { tables: this.#tables }).rows();
  }

  /** Processor time that the workers have used so far, with their engines. */
  workMs(): number {
    return this.workOfEach().reduce((sum, each) => sum + each, 0);
  }

  /** The same, in milliseconds of each worker. */
  workOfEach(): readonly number[] {
    return this.#workers.map(({ pid }) => treeCpuSeconds(pid) * 1_000);
  }

  /** To a worker and its engines. */
  signal(worker: number, signal: NodeJS.Signals): void {
    this.#workers[worker]?.kill(signal);
  }

  async close(): Promise<void> {
    await this.#client?.close();
    await this.#close();
  }
}

/** DuckDB in this process over the same files. */
export class LocalDuckDB {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(tables: SqlClusterOptions['tables'], threads: number): Promise<LocalDuckDB> {
    const instance = await DuckDBInstance.create(':memory:', { threads: `${threads}` });
    const connection = await instance.connect();
    for (const [name, glob] of Object.entries(tables))
      await connection.run(`CREATE VIEW ${name} AS SELECT * FROM read_parquet('${glob}')`);
    return new LocalDuckDB(instance, connection);
  }

  /** To the last row. */
  async run(sql: string): Promise<number> {
    return (await this.#connection.runAndReadAll(sql)).currentRowCount;
  }

  /** As JSON, to be compared. */
  async rows(sql: string): Promise<string> {
    return JSON.stringify((await this.#connection.runAndReadAll(sql)).getRowsJson());
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** How long it took. */
export async function timedMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
