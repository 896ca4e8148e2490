/** What every connection to PostgreSQL has in common, whatever it is for. */
import postgres from 'postgres';
import { MillraceError } from '../../core/index.ts';
import { parseBigint, parseTime, type Values } from './codec.ts';

export interface ConnectionSettings {
  readonly url: string;
  readonly applicationName: string;
  /** The leader's TTL: nothing on its line may take half as long. */
  readonly ttlMs: number;
}

export type Parameters = readonly (string | number | null)[];

/** One statement, its rows. */
export type Run = (statement: string, parameters: Parameters) => Promise<readonly Values[]>;

/** Session settings are strings: the driver leaves out those that are 0 or false. */
type Session = Readonly<Record<string, string>>;

/** Texts must mean the same to both sides, whatever the server's or the role's defaults are. */
const SESSION: Session = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  extra_float_digits: '1',
  default_transaction_isolation: 'read committed',
  jit: 'off',
};

type ClientOptions = Pick<postgres.Options<never>, 'max' | 'idle_timeout' | 'onclose'> & {
  /** The driver has it, its types do not. */
  readonly onnotify?: () => void;
};

export function connect(
  { url, applicationName, ttlMs }: ConnectionSettings,
  session: Session,
  options: ClientOptions,
): postgres.Sql {
  try {
    return postgres(url, {
      ...options,
      // Arrays go out as literals and do not come back, so their types need not be asked for.
      fetch_types: false,
      max_lifetime: null,
      onnotice: () => {},
      connect_timeout: Math.max(1, Math.ceil(ttlMs / 2_000)),
      keep_alive: Math.max(1, Math.floor(ttlMs / 4_000)),
      connection: { application_name: applicationName, ...SESSION, ...session },
      types: {
        bigint: { to: 20, from: [20], parse: parseBigint, serialize: String },
        instant: { to: 1184, from: [1184], parse: parseTime, serialize: String },
      },
    });
  } catch (cause) {
    throw new MillraceError({
      code: 'bad_setting',
      what: 'The database URL cannot be read.',
      todo: 'Give one like postgres://user:password@host:5432/database.',
      cause,
    });
  }
}

/** Sends statements under a name, so that the server parses each of them once a connection. */
export function runOn(sql: Pick<postgres.Sql, 'unsafe'>): Run {
  return async (statement, parameters) =>
    sql.unsafe<Values[]>(statement, [...parameters], { prepare: true });
}

export interface OneConnection {
  /** Fails, with nothing sent, once the connection was lost. */
  readonly run: Run;
  readonly isLost: () => boolean;
  /** Also rolls back what was not committed. */
  readonly end: () => Promise<void>;
}

/**
 * For a transaction of several statements. The driver would connect again by itself when a connection
 * ends between two of them, and the rest would run outside of the transaction.
 */
export function connectOnce(settings: ConnectionSettings, session: Session): OneConnection {
  let lost = false;
  const sql = connect(settings, session, { max: 1, onclose: () => void (lost = true) });
  const run = runOn(sql);
  return {
    run: async (statement, parameters) => {
      if (lost) throw new Error('the connection was lost within a transaction');
      return run(statement, parameters);
    },
    isLost: () => lost,
    end: () => sql.end({ timeout: 1 }),
  };
}
