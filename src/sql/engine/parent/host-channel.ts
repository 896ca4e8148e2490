/** Answers the requests of a child process that runs operators of this program. */
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import type { HostAnswer, HostRequest } from '../../../tasks/executors/index.ts';
import type { CodeHost } from '../engine.ts';
import { HOST_CHANNEL } from '../messages.ts';

const LENGTH_BYTES = 4;

/** A message is its length, then its value; the child sends the next one when the last is answered. */
export function serveHost(child: ChildProcess, host: CodeHost): Socket | null {
  const channel = child.stdio[HOST_CHANNEL] as Socket | null | undefined;
  if (channel === null || channel === undefined) return null;
  let pieces: Buffer[] = [];
  let bytes = 0;
  const take = (): void => {
    if (bytes < LENGTH_BYTES) return;
    const all = Buffer.concat(pieces);
    const end = LENGTH_BYTES + all.readUInt32LE();
    pieces = [all];
    if (all.length < end) return;
    pieces = [all.subarray(end)];
    bytes = all.length - end;
    const request = deserialize(all.subarray(LENGTH_BYTES, end)) as HostRequest;
    void host.answer(request).then((answer) => channel.write(framed(answer)));
  };
  channel.on('data', (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    take();
  });
  // The end of the child is noticed elsewhere.
  channel.on('error', () => {});
  channel.unref();
  return channel;
}

function framed(answer: HostAnswer): Buffer {
  const body = serialized(answer);
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
}

function serialized(answer: HostAnswer): Buffer {
  try {
    return serialize(answer);
  } catch (error) {
    const message = `what it returns cannot be copied: ${String(error)}`;
    return serialize({ kind: 'failed', message, isFatal: true } satisfies HostAnswer);
  }
}
