/**
 * Is there a pooler between this process and the server that gives each transaction another of the
 * server's connections? Then nothing may be expected to outlast a transaction: no settings of a session, no
 * prepared statements, no notifications and no lock. What is done about it stands where each is used;
 * without a lock, a leader that died is replaced when its time is up.
 */
import postgres from 'postgres';
import { connect, type ConnectionSettings, type Session } from './connection.ts';
import { unavailable } from './failure.ts';

/** A setting that only a connection of our own keeps. */
const MARK: Session = { 'millrace.direct': 'yes' };
const PROTOCOL_VIOLATION = '08P01';

export async function isPooled(settings: ConnectionSettings): Promise<boolean> {
  const sql = connect(settings, MARK, { max: 1 });
  try {
    const answer = await sql.unsafe(
      `select pg_backend_pid() as pid, current_setting('millrace.direct', true) as mark`,
    );
    // A pooler has given the client a process id of its own, to be able to cancel.
    const isOurs = answer[0]?.['pid'] === answer.state.pid;
    return !isOurs || answer[0]?.['mark'] !== 'yes';
  } catch (cause) {
    // It knows a few settings by name and refuses a connection that asks for others.
    if (cause instanceof postgres.PostgresError && cause.code === PROTOCOL_VIOLATION) return true;
    throw unavailable(cause);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
