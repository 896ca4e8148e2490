/** Binds a statement without running it. */
import type { BindAnswer } from '../messages.ts';
import { type Connection, Failed } from './work.ts';

/** `statement` begins with DESCRIBE. */
export async function boundTypes(connection: Connection, statement: string): Promise<BindAnswer> {
  try {
    const rows = await connection.texts(statement);
    return { types: rows.map((row) => String(row[1])) };
  } catch (error) {
    if (!(error instanceof Failed) || error.fault.code === 'interrupted') throw error;
    return { fault: error.fault.what };
  }
}
