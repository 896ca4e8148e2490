/** Learns of submitted jobs at once. After a lost connection the driver's own `listen` tries once to reconnect and
 * then stays silent, so this one keeps trying. */
import type postgres from 'postgres';
import { systemClock } from '../../../kit/index.ts';
import { connect, type ConnectionSettings } from './connection.ts';
import { unavailable } from './failure.ts';

const RETRY_MS = 1_000;

/** Calls `fn` at every notification, and after every gap in which one may have been missed. */
export async function listenToInbox(
  settings: ConnectionSettings,
  fn: () => void,
): Promise<() => Promise<void>> {
  if (settings.isPooled === true) {
    // Notifications go to a server connection, which behind a pooler has no owner: jobs are found by reading the
    // inbox from time to time.
    fn();
    return async () => {};
  }
  const listener = new Listener(settings, fn);
  try {
    await listener.listen();
  } catch (cause) {
    await listener.stop();
    throw unavailable(cause);
  }
  return () => listener.stop();
}

class Listener {
  readonly #settings: ConnectionSettings;
  readonly #fn: () => void;
  #sql: postgres.Sql | null = null;
  #cancelRetry: () => void = () => {};
  #stopped = false;

  constructor(settings: ConnectionSettings, fn: () => void) {
    this.#settings = settings;
    this.#fn = fn;
  }

  async listen(): Promise<void> {
    const sql = connect(
      this.#settings,
      {},
      { max: 1, onnotify: this.#fn, onclose: () => this.#lost(sql) },
    );
    this.#sql = sql;
    await sql.unsafe('listen millrace_inbox');
    this.#fn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRetry();
    await this.#sql?.end({ timeout: 1 });
  }

  /** Called when a connection ended, and when one could not be made. */
  #lost(sql: postgres.Sql): void {
    if (this.#stopped || this.#sql !== sql) return;
    this.#sql = null;
    void sql.end({ timeout: 0 });
    this.#cancelRetry = systemClock.after(RETRY_MS, () => {
      // A failure has closed the connection, which leads here again.
      this.listen().catch(() => {});
    });
  }
}
