/** What every connection to PostgreSQL has in common, whatever it is for. */
import postgres from 'postgres';
import { MillraceError } from '../../core/index.ts';
import { backoffMs } from '../../../kit/index.ts';
import type { Copy } from './copy.ts';
import { parseBigint, parseTime, type Values } from './codec.ts';
import { type OwnSocket, ownSocket } from './prompt-socket.ts';

export interface ConnectionSettings {
  readonly url: string;
  readonly applicationName: string;
  /** The leader's TTL: nothing on its connection may take half as long. */
  readonly ttlMs: number;
  /** A pooler hands out the server's connections by transaction, see pooler.ts. */
  readonly isPooled?: boolean;
}

export type Parameters = readonly (string | number | null)[];

/** One statement, its rows. */
export type Run = (statement: string, parameters: Parameters) => Promise<readonly Values[]>;

/** Session settings are strings: the driver leaves out those that are 0 or false. */
export type Session = Readonly<Record<string, string>>;

/** Texts must mean the same to both sides, whatever the server's or the role's defaults are. */
const SESSION: Session = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  jit: 'off',
  // Look-ups by key do not repeat: remembering their answers costs a tenth of an update.
  enable_memoize: 'off',
};

type ClientOptions = Pick<postgres.Options<never>, 'max' | 'idle_timeout' | 'onclose'> & {
  /** The driver has it, its types do not. */
  readonly onnotify?: () => void;
};

/** How many seconds the driver waits after this many failures in a row, which all connections of a client share. By
 * default it soon waits for 20 s, and reads would wait for that long after the server is back. */
function backoffSeconds(failures: number): number {
  return backoffMs({ firstMs: 40, maxMs: 250 }, failures) / 1_000;
}

export function connect(
  { url, applicationName, ttlMs, isPooled }: ConnectionSettings,
  session: Session,
  options: ClientOptions,
): postgres.Sql {
  // A pooler refuses to start a connection with settings that it cannot give back afterwards.
  const settings = isPooled === true ? {} : { ...SESSION, ...session };
  try {
    const sending: OwnSocket = ownSocket(url);
    return postgres(url, {
      ...options,
      ...sending,
      // Arrays go out as literals and do not come back, so their types need not be asked for.
      fetch_types: false,
      max_lifetime: null,
      backoff: backoffSeconds,
      onnotice: () => {},
      connect_timeout: Math.max(1, Math.ceil(ttlMs / 2_000)),
      keep_alive: Math.max(1, Math.floor(ttlMs / 4_000)),
      connection: { application_name: applicationName, ...settings },
      types: {
        bigint: { to: 20, from: [20], parse: parseBigint, serialize: String },
        instant: { to: 1184, from: [1184], parse: parseTime, serialize: String },
      },
    });
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_setting',
      what: 'The database URL is not valid.',
      todo: 'Use the form postgres://user:password@host:5432/database.',
      cause,
    });
  }
}

/** Sends statements under a name, so that the server parses each of them once a connection. Behind a
 * pooler a name would be unknown to the next connection, so there they go without. */
export function runOn(sql: Pick<postgres.Sql, 'unsafe'>, isPooled = false): Run {
  return async (statement, parameters) =>
    sql.unsafe<Values[]>(statement, [...parameters], { prepare: !isPooled });
}

/** What is sent in one message. */
const COPY_BYTES = 1024 * 1024;

/** The driver forgets who waits for the end of a COPY when that fails: it tells the query, which has been answered with the
 * stream by then (driver 3.4.9, seen). So whoever waits listens there. */
async function copyOn(sql: postgres.Sql, { statement, body }: Copy): Promise<void> {
  const query = sql.unsafe(statement) as ReturnType<postgres.Sql['unsafe']> & {
    reject: (cause: unknown) => void;
  };
  const stream = await query.writable();
  await new Promise<void>((resolve, reject) => {
    query.reject = reject;
    stream.once('error', reject).once('finish', resolve);
    for (let at = 0; at < body.length; at += COPY_BYTES) {
      stream.write(body.subarray(at, at + COPY_BYTES));
    }
    stream.end();
  });
}

/** The settings of a session as a script for one transaction, which is all that a pooler gives. */
export function localSettings(session: Session): string {
  const all = Object.entries({ ...SESSION, ...session });
  // Those of the connection itself are the pooler's own affair, and defaults for the next transaction
  // come too late for this one.
  const local = all.filter(([name]) => !/^(tcp_|default_)/.test(name));
  return local.map(([name, value]) => `set local ${name} = '${value}';`).join(' ');
}

export interface OneConnection {
  /** Opens the transaction, with the session's settings wherever they are kept. */
  readonly begin: (mode?: string) => Promise<void>;
  /** Fails, with nothing sent, once the connection was lost. */
  readonly run: Run;
  /** Within a transaction. */
  readonly copy: (copy: Copy) => Promise<void>;
  readonly isLost: () => boolean;
  /** Also rolls back what was not committed. */
  readonly end: (timeoutSeconds?: number) => Promise<void>;
}

/**
 * A client that is given up with its connection. The driver would connect again by itself: then the rest of a
 * transaction would run outside of it, and a connection that closed with something still to be written never writes
 * again, so that whatever is asked on it waits for ever (driver 3.4.9, seen).
 */
export function connectOnce(
  settings: ConnectionSettings,
  session: Session,
  options: Pick<ClientOptions, 'idle_timeout'> = {},
): OneConnection {
  let lost = false;
  const onclose = (): void => {
    lost = true;
    // Rejects what was sent between the failure and this call, which the driver would forget.
    void sql.end({ timeout: 0 });
  };
  const sql = connect(settings, session, { ...options, max: 1, onclose });
  const send = runOn(sql, settings.isPooled);
  const run: Run = async (statement, parameters) => {
    if (lost) throw new Error('the connection was lost');
    return send(statement, parameters);
  };
  return {
    begin: async (mode = '') => {
      await run(`begin ${mode}`, []);
      if (settings.isPooled === true) await sql.unsafe(localSettings(session));
    },
    run,
    copy: async (copy) => {
      if (lost) throw new Error('the connection was lost');
      await copyOn(sql, copy);
    },
    isLost: () => lost,
    end: (timeout = 1) => sql.end({ timeout }),
  };
}
