/** A PostgreSQL of its own for a benchmark, with its default flushing, and what it counts. */
import postgres from 'postgres';
import { startPostgres } from '../../test/rig/postgres-server.ts';
import type { PostgresServer } from '../../test/rig/postgres-server.ts';
import { parentOf, treeCpuSeconds } from './proc.ts';

export interface WalPart {
  readonly what: string;
  readonly bytes: number;
}

export class BenchDatabase {
  readonly #server: PostgresServer;
  #sql: postgres.Sql;
  #postmaster = 0;

  private constructor(server: PostgresServer) {
    this.#server = server;
    this.#sql = connected(server.url);
  }

  /** `counted`: it can count statements, which costs time, so only on request. */
  static async start(kind: 'plain' | 'counted'): Promise<BenchDatabase> {
    const server = await startPostgres('durable');
    const database = new BenchDatabase(server);
    try {
      if (kind === 'counted') await database.#prepareCounting();
      const [row] = await database.#sql`select pg_backend_pid() as pid`;
      database.#postmaster = parentOf(Number(row?.['pid']));
      return database;
    } catch (error) {
      await database.stop();
      throw error;
    }
  }

  /** The address of a new, empty database. */
  async create(name: string): Promise<string> {
    await this.#sql`create database ${this.#sql(name)}`;
    return this.#server.url.replace(/postgres$/, name);
  }

  async walBytes(): Promise<number> {
    const [row] = await this.#sql`select pg_current_wal_insert_lsn() - '0/0' as bytes`;
    return Number(row?.['bytes']);
  }

  /** Where the WAL is, for `walAccount`. */
  async walPosition(): Promise<string> {
    const [row] = await this.#sql`select pg_current_wal_insert_lsn()::text as at`;
    return row?.['at'] as string;
  }

  /** What was written since then, by kind of record and by table or index: bytes, most first. */
  async walAccount(name: string, from: string): Promise<readonly WalPart[]> {
    const sql = connected(this.#server.url.replace(/postgres$/, name));
    try {
      await sql`create extension if not exists pg_walinspect`;
      const rows = await sql`
        select w.resource_manager || ' ' || w.record_type || coalesce(' ' || c.relname, '') as what,
               sum(w.record_length)::bigint as bytes
          from (select i.*, (regexp_match(i.block_ref, 'rel \\d+/\\d+/(\\d+)'))[1]::oid as node
                  from pg_get_wal_records_info(${from}::pg_lsn, pg_current_wal_flush_lsn()) i) w
          left join pg_class c on c.relfilenode = w.node
         group by 1 order by 2 desc`;
      return rows.map((row) => ({ what: row['what'] as string, bytes: Number(row['bytes']) }));
    } finally {
      await sql.end();
    }
  }

  /** Of all its processes. */
  cpuSeconds(): number {
    return treeCpuSeconds(this.#postmaster);
  }

  async countStatements(isOn: boolean): Promise<void> {
    await this.#sql.unsafe(`alter system set pg_stat_statements.track = ${isOn ? 'top' : 'none'}`);
    await this.#sql`select pg_reload_conf()`;
    await this.#sql`select pg_stat_statements_reset()`;
  }

  /** That clients have sent to one database since the counting began, our own looks left out. */
  async statements(name: string): Promise<number> {
    const [row] = await this.#sql`
      select coalesce(sum(s.calls), 0) as calls from pg_stat_statements s
        join pg_database d on d.oid = s.dbid where d.datname = ${name}
         and s.query not like '%/* look */%'`;
    return Number(row?.['calls']);
  }

  async stop(): Promise<void> {
    await this.#sql.end({ timeout: 1 });
    await this.#server.stop();
  }

  /** A library that watches all sessions has to be there when the server starts. */
  async #prepareCounting(): Promise<void> {
    await this.#sql`alter system set shared_preload_libraries = 'pg_stat_statements'`;
    await this.#sql.end();
    await this.#server.crash();
    await this.#server.start();
    this.#sql = connected(this.#server.url);
    await this.#sql`create extension pg_stat_statements`;
    await this.countStatements(false);
  }
}

function connected(url: string): postgres.Sql {
  return postgres(url, { max: 1, onnotice: () => {} });
}
