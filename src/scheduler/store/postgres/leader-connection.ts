/**
 * The leader's connection, used for leadership and commits. A statement on it is a transaction,
 * so there is never one left open, neither by an error nor by a process that stops half-way.
 *
 * The driver would connect again by itself and send what it still had in hand. Here a connection
 * that broke is given up for good, so that "not sent" and "perhaps sent" stay apart: what fails
 * while connecting has changed nothing, what fails later may have.
 */
import type postgres from 'postgres';
import { Backoff, systemClock, withDeadline } from '../../../kit/index.ts';
import type { Term } from '../store.ts';
import type { Values } from './codec.ts';
import {
  connect,
  type ConnectionSettings,
  localSettings,
  type Parameters,
  type Run,
  runOn,
  type Session,
} from './connection.ts';
import { breaksConnection, unavailable } from './failure.ts';
import { holdFor, leaseMs, limitMs } from './timeout-multiplier.ts';
import { HeldTerms } from './held-terms.ts';
import { GRACE_MS } from './leader-vacancy.ts';

/** A statement that is made ready when the connection opens, and how many parameters it takes. */
export interface Prepared {
  readonly statement: string;
  readonly parameters: number;
}

/** A statement that may take longer than usual, and the term that has to last over it. */
interface Long {
  readonly timeoutMultiplier: number;
  readonly term: Term;
}

/** The delay before a lost connection that holds a term is replaced; it doubles each time. */
const REOPEN_MS = 20;
/** A server that is back is found well within the grace after which a leader is taken for dead. */
const REOPEN_MS_MAX = GRACE_MS * 0.3;

interface Connection {
  readonly sql: postgres.Sql;
  readonly ready: Promise<void>;
}

export class LeaderConnection {
  readonly #settings: ConnectionSettings;
  readonly #prepared: readonly Prepared[];
  readonly #terms: HeldTerms = new HeldTerms();
  #connection: Connection | null = null;
  readonly #reopening = new Backoff({ firstMs: REOPEN_MS, maxMs: REOPEN_MS_MAX });
  #cancelReopen: () => void = () => {};
  #turn: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(settings: ConnectionSettings, prepared: readonly Prepared[]) {
    this.#settings = settings;
    this.#prepared = prepared;
  }

  /** Whether the connection is not pooled, so that it can hold a term. */
  get isDirect(): boolean {
    return this.#settings.isPooled !== true;
  }

  /** A campaign was won on this connection. */
  async standFor(term: Term): Promise<void> {
    if (!this.isDirect) return;
    this.#terms.begin(term);
    const run: Run = (statement, parameters) => this.run(statement, parameters);
    // If this fails the connection is lost, and the next one stands before anything else.
    await this.#terms.standFor(term, run).catch(() => {});
  }

  /** The term is about to be given back: if that fails, the next connection does it. */
  leave(term: Term): void {
    this.#terms.leave(term);
  }

  standNoMoreFor(term: Term): void {
    if (!this.#terms.end(term)) return;
    const unlock = 'select pg_advisory_unlock(millrace.lock_space(), $1)';
    // Without a connection there is no lock either.
    if (this.#connection !== null) this.run(unlock, [term.shard]).catch(() => {});
  }

  /**
   * Fails with `store_unavailable` when nothing was sent, otherwise with the cause as it is. A `long`
   * statement gets more time, and the leader's row is made to hold for that time first.
   */
  async run(
    statement: string,
    parameters: Parameters,
    long: Long | null = null,
  ): Promise<readonly Values[]> {
    if (this.#closed) throw unavailable(new Error('the store was closed'));
    const connection = (this.#connection ??= this.#connect());
    // One at a time, so that the limit of a statement is not used up by those before it.
    const answer = this.#turn.then(() => this.#send(connection, statement, parameters, long));
    this.#turn = answer.then(
      () => {},
      () => {},
    );
    return answer;
  }

  async #send(
    connection: Connection,
    statement: string,
    parameters: Parameters,
    long: Long | null,
  ): Promise<readonly Values[]> {
    const timeoutMultiplier = long?.timeoutMultiplier ?? 1;
    await connection.ready.catch((cause: unknown) => {
      throw unavailable(cause);
    });
    this.#insistOn(connection);
    // In the same turn, so that no shorter renewal comes between the two.
    if (long !== null && timeoutMultiplier > 1) await this.#makeTime(connection, long);
    try {
      return await this.#ask(connection, statement, parameters, timeoutMultiplier);
    } catch (cause) {
      if (breaksConnection(cause)) this.#giveUp(connection);
      throw cause;
    } finally {
      // What became of the statement is known already: a limit that stays costs the connection only.
      if (timeoutMultiplier > 1 && this.#connection === connection) {
        await this.#limitTo(connection, 1).catch(() => this.#giveUp(connection));
      }
    }
  }

  /** What was to follow a lost statement must not overtake it on another connection. */
  #insistOn(connection: Connection): void {
    if (this.#connection !== connection) throw unavailable(new Error('the connection was lost'));
  }

  /** Before a long statement; when it fails, that one was not sent. */
  async #makeTime(connection: Connection, { timeoutMultiplier, term }: Long): Promise<void> {
    const ask: Run = (statement, parameters) => this.#ask(connection, statement, parameters, 1);
    try {
      await holdFor(ask, term, leaseMs(this.#settings.ttlMs, timeoutMultiplier));
      await this.#limitTo(connection, timeoutMultiplier);
    } catch (cause) {
      if (breaksConnection(cause)) this.#giveUp(connection);
      throw unavailable(cause);
    }
    this.#insistOn(connection);
  }

  /** Behind a pooler each transaction brings its own limit. */
  async #limitTo(connection: Connection, timeoutMultiplier: number): Promise<void> {
    if (!this.isDirect) return;
    await this.#ask(
      connection,
      SET_TIMEOUT,
      [timeoutOf(this.#settings.ttlMs, timeoutMultiplier)],
      1,
    );
  }

  #ask(
    { sql }: Connection,
    statement: string,
    parameters: Parameters,
    timeoutMultiplier: number,
  ): Promise<readonly Values[]> {
    const answer = this.isDirect
      ? runOn(sql)(statement, parameters)
      : this.#runPooled(sql, statement, parameters, timeoutMultiplier);
    return this.#inTime(answer, timeoutMultiplier);
  }

  /** Behind a pooler: a transaction that sets its own settings, sent together with them. */
  async #runPooled(
    sql: postgres.Sql,
    statement: string,
    parameters: Parameters,
    timeoutMultiplier: number,
  ): Promise<readonly Values[]> {
    const settings = localSettings(session(this.#settings.ttlMs, timeoutMultiplier));
    const opening = `begin isolation level read committed; ${settings}
      ${SYNCHRONOUS.replace('$1', 'true')}`;
    // Not the driver's own `begin`, see read-connections.ts. Sent at once, in this order, which is not the one in
    // which promises would be asked; after an error the commit is a rollback.
    const sent = [
      sql.unsafe<Values[]>(opening).execute(),
      sql.unsafe<Values[]>(statement, [...parameters], { prepare: false }).execute(),
      sql.unsafe<Values[]>('commit').execute(),
    ];
    const [, rows = []] = await Promise.all(sent);
    return rows;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelReopen();
    const connection = this.#connection;
    this.#connection = null;
    await connection?.sql.end({ timeout: 1 });
  }

  #connect(): Connection {
    const sql = connect(this.#settings, session(this.#settings.ttlMs), {
      max: 1,
      onclose: () => this.#giveUp(connection),
    });
    // The driver limits one attempt, and silently makes another when it is closed.
    const connection = { sql, ready: this.#inTime(this.#prepare(sql), 2) };
    connection.ready.catch(() => this.#giveUp(connection));
    return connection;
  }

  async #prepare(sql: postgres.Sql): Promise<void> {
    if (!this.isDirect) return;
    // First, because a candidate may be looking for it.
    await this.#terms.standForAll(runOn(sql));
    this.#reopening.reset();
    await prepare(sql, this.#prepared);
  }

  #giveUp(connection: Connection): void {
    if (this.#connection === connection) {
      this.#connection = null;
      this.#reopenSoon();
    }
    void connection.sql.end({ timeout: 0 });
  }

  /** Others see that the connection is gone and would take this leader for dead. */
  #reopenSoon(): void {
    if (this.#closed || !this.#terms.isNeeded) return;
    this.#cancelReopen();
    this.#cancelReopen = systemClock.after(this.#reopening.nextMs(), () => {
      if (this.#closed || this.#connection !== null || !this.#terms.isNeeded) return;
      this.#connection = this.#connect();
    });
  }

  /** The server gives up first, by its own timeouts. Without even that answer, the network is gone. */
  #inTime<T>(answer: Promise<T>, timeoutMultiplier: number): Promise<T> {
    const ms = limitMs(this.#settings.ttlMs, timeoutMultiplier);
    return withDeadline(systemClock, ms, answer, () => new Error(`no answer within ${ms} ms`));
  }
}

async function prepare(sql: postgres.Sql, prepared: readonly Prepared[]): Promise<void> {
  await sql.unsafe(SYNCHRONOUS.replace('$1', 'false'));
  for (const { statement, parameters } of prepared) {
    const nulls = Array.from({ length: parameters }, () => null);
    await sql.unsafe(statement, nulls, { prepare: true }).describe();
  }
}

/** A server or role that does not wait for the disk would break what a commit promises. */
const SYNCHRONOUS = `select set_config('synchronous_commit', 'on', $1)
  where current_setting('synchronous_commit') = 'off'`;

const SET_TIMEOUT = `select set_config('statement_timeout', $1, false)`;

function timeoutOf(ttlMs: number, timeoutMultiplier: number): string {
  return String(Math.max(1, Math.floor(ttlMs * 0.4 * timeoutMultiplier)));
}

/** Rows are found by key, always: a plan made while a table was small must not scan it ever after. */
export const BY_KEY: Session = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_material: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** Everything here ends below half of the TTL, so that a leader that hangs cannot outlive its term. */
function session(ttlMs: number, timeoutMultiplier = 1): Readonly<Record<string, string>> {
  const limitMs = timeoutOf(ttlMs, 1);
  return {
    statement_timeout: timeoutOf(ttlMs, timeoutMultiplier),
    idle_in_transaction_session_timeout: limitMs,
    tcp_user_timeout: limitMs,
    tcp_keepalives_idle: String(Math.max(1, Math.floor(ttlMs / 5_000))),
    tcp_keepalives_interval: '1',
    tcp_keepalives_count: '2',
    ...BY_KEY,
  };
}
