/** Sends rows as bytes, never more than the reader has granted. */
import { quotedText } from '../../plan/index.ts';
import { open, rm } from 'node:fs/promises';
import type { JoinedText, RowsCall } from '../messages.ts';
import type { Instances } from './instances.ts';
import { within } from './sandbox.ts';
import type { Connection, Work } from './work.ts';

/** Sends a piece as soon as the reader has granted room for it. */
export type Send = (bytes: Uint8Array) => Promise<void>;

/** Of text; a single row may be longer. */
const PIECE_CHARACTERS = 512 * 1024;
const PIECE_BYTES = 1024 * 1024;

export async function sendRows(
  work: Work,
  instances: Instances,
  { timeZone, source, sandbox }: RowsCall,
  send: Send,
): Promise<void> {
  await within(sandbox, instances, async (sessions) => {
    const connection = await work.take(sessions, 'run');
    await connection.begin(timeZone);
    if (source.kind === 'text') await sendText(connection, source, send);
    else await sendFile(connection, source.file, source.query, send);
    connection.giveBack();
  });
}

async function sendText(
  connection: Connection,
  { sql, head, separator, tail, joined }: Extract<RowsCall['source'], { kind: 'text' }>,
  send: Send,
): Promise<void> {
  let waiting = head;
  let isFirst = true;
  const query = joined !== null && (await fits(connection, joined)) ? joined.sql : sql;
  for await (const rows of connection.column(query)) {
    for (const row of rows) {
      waiting += isFirst ? String(row) : separator + String(row);
      isFirst = false;
      // Row by row: two thousand long rows together could exceed the maximum length of a string.
      if (waiting.length < PIECE_CHARACTERS) continue;
      await send(Buffer.from(waiting));
      waiting = '';
    }
  }
  waiting += tail;
  if (waiting !== '') await send(Buffer.from(waiting));
}

async function fits(connection: Connection, { bound, bytesMax }: JoinedText): Promise<boolean> {
  const [[bytes] = []] = await connection.texts(bound);
  return Number(bytes) <= bytesMax;
}

/** The footer of a Parquet file is at its end, so it cannot be sent while it is written. */
async function sendFile(
  connection: Connection,
  file: string,
  query: string,
  send: Send,
): Promise<void> {
  try {
    await connection.run(`COPY (${query}) TO ${quotedText(file)} (FORMAT parquet)`);
    const handle = await open(file);
    try {
      for (;;) {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(PIECE_BYTES));
        if (bytesRead === 0) return;
        await send(buffer.subarray(0, bytesRead));
      }
    } finally {
      await handle.close();
    }
  } finally {
    await rm(file, { force: true });
  }
}
