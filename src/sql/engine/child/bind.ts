/** Binds the statements of a plan without running them, and looks up the keys that its work depends on. */
import type { BindAnswer, BoundTypes } from '../messages.ts';
import { Failed, type SessionConnection } from './work.ts';

/** `statement` begins with DESCRIBE. */
export async function boundTypes(
  connection: SessionConnection,
  statement: string,
): Promise<BindAnswer> {
  try {
    const rows = await connection.texts(statement);
    connection.giveBack();
    return { types: rows.map((row) => String(row[1])) };
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return { fault: error.fault.what };
  }
}

/** They only say how to divide the work, so an error does not matter. */
export async function lookedUp(
  connection: SessionConnection,
  statement: string,
): Promise<NonNullable<BoundTypes['keys']> | null> {
  try {
    const [row = []] = await connection.texts(statement);
    connection.giveBack();
    return row.map((text) => (text === null ? null : (JSON.parse(text) as number[])));
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return null;
  }
}
