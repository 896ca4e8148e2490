/** Writes to a client at the client's pace, with a limit. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../kit/index.ts';

export interface SendOptions {
  readonly clock: Clock;
  /** A client that leaves its socket full for this long is disconnected. */
  readonly stallMs: number;
}

/** Settles when the client has room for more: true, or false when it has gone or was cut. */
export function send(
  response: ServerResponse,
  piece: string | Uint8Array,
  options: SendOptions,
): Promise<boolean> {
  if (response.destroyed || response.writableEnded) return Promise.resolve(false);
  if (response.write(piece)) return Promise.resolve(true);
  return drained(response, options);
}

function drained(response: ServerResponse, { clock, stallMs }: SendOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (hasRoom: boolean) => (): void => {
      cancel();
      response.off('drain', onDrain).off('close', onClose);
      // Nothing of what is still buffered is worth keeping.
      if (!hasRoom) response.destroy();
      resolve(hasRoom);
    };
    const onDrain = finish(true);
    const onClose = finish(false);
    const cancel = clock.after(stallMs, onClose);
    response.on('drain', onDrain).on('close', onClose);
  });
}
