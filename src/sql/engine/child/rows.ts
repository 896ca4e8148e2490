/** Sends rows as bytes, never more than the reader has granted. */
import { open, rm } from 'node:fs/promises';
import type { CopiedText, RowsCall } from '../messages.ts';
import type { Instances } from './instances.ts';
import { within } from './sandbox.ts';
import { type Connection, Failed, type Work } from './work.ts';

/** Sends a piece as soon as the reader has granted room for it. */
export type Send = (bytes: Uint8Array) => Promise<void>;

/** Of text; a single row may be longer. */
const PIECE_CHARACTERS = 512 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** Of a file of which all is sent, and nothing else. */
const WHOLE = { cutBytes: 0, head: '', tail: '' } as const;

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
    else await sendFile(connection, { ...source, ...WHOLE }, send);
    connection.giveBack();
  });
}

async function sendText(
  connection: Connection,
  { sql, head, separator, tail, copied }: Extract<RowsCall['source'], { kind: 'text' }>,
  send: Send,
): Promise<void> {
  if (copied !== null && (await sendCopied(connection, copied, { head, tail }, send))) return;
  let waiting = head;
  let isFirst = true;
  for await (const rows of connection.column(sql)) {
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

/** False if the rows are too long for a file: then nothing is sent. */
async function sendCopied(
  connection: Connection,
  { bound, bytesMax, ...copied }: CopiedText,
  around: Around,
  send: Send,
): Promise<boolean> {
  const [[bytes] = []] = await connection.texts(bound);
  if (Number(bytes) > bytesMax) return false;
  try {
    await sendFile(connection, { ...copied, ...around }, send);
    return true;
  } catch (error) {
    if (error instanceof Failed && error.fault.code === 'disk_full') return false;
    throw error;
  }
}

interface Around {
  readonly head: string;
  readonly tail: string;
}

interface CopiedFile extends Around {
  /** Writes the file. */
  readonly copy: string;
  readonly file: string;
  /** Not sent, of its end. */
  readonly cutBytes: number;
}

/** The footer of a Parquet file is at its end, so it cannot be sent while it is written. */
async function sendFile(
  connection: Connection,
  { copy, file, cutBytes, head, tail }: CopiedFile,
  send: Send,
): Promise<void> {
  try {
    await connection.run(copy);
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const end = Math.max(0, size - cutBytes);
      for (let at = 0, before = head; ; before = '') {
        const room = Buffer.allocUnsafeSlow(Math.max(1, Math.min(PIECE_BYTES, end - at)));
        const { bytesRead } = await handle.read(room);
        const bytes = room.subarray(0, Math.min(bytesRead, end - at));
        at += bytesRead;
        const isLast = at >= end || bytesRead === 0;
        const after = isLast ? tail : '';
        await send(
          before === '' && after === ''
            ? bytes
            : Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]),
        );
        if (isLast) return;
      }
    } finally {
      await handle.close();
    }
  } finally {
    await rm(file, { force: true });
  }
}
