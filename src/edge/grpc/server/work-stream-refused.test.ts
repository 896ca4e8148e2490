/** What comes after a refusal is read and dropped: a stream that is not read never goes. */
import { once } from 'node:events';
import { type ClientHttp2Stream, connect, constants, type Http2Session } from 'node:http2';
import { expect, onTestFinished, test } from 'vitest';
import { wireNode } from '../../../../test/rig/wire-node.ts';
import { deferred } from '../../../kit/index.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';

function framed(bytes: number): Buffer {
  const frame = Buffer.alloc(5 + bytes);
  frame.writeUInt32BE(bytes, 1);
  return frame;
}

function opened(address: string): ClientHttp2Stream {
  const session = connect(`http://${address}`);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': ControlPlaneService.work.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  return stream.resume();
}

const ended = async (stream: ClientHttp2Stream): Promise<unknown> => {
  const [trailers] = (await once(stream, 'trailers')) as [Record<string, unknown>];
  return trailers['grpc-status'];
};

test('a stream that was refused while more came goes when its caller leaves it', async () => {
  let connection: Http2Session | null = null;
  let checks = 0;
  const [isChecked, checked] = [deferred(), deferred()];
  const { address } = await wireNode({
    access: async ({ peer }) => {
      connection = peer.connection as Http2Session;
      checks += 1;
      if (checks === 1) return 'worker';
      isChecked.resolve();
      await checked.promise;
      throw new MillraceError({ code: 'unauthenticated', what: 'Who are you?' });
    },
  });
  const stream = opened(address);
  const status = ended(stream);
  stream.write(framed(1));
  await isChecked.promise;
  // More than the server takes of a stream that it does not read.
  for (let no = 0; no < 20; no += 1) stream.write(framed(10_000));
  const isLeft = once(stream, 'close');
  checked.resolve();
  expect(await status).toBe('16');
  stream.close(constants.NGHTTP2_NO_ERROR);
  await isLeft;
  const isClosed = deferred();
  // Called when no stream is left.
  (connection as Http2Session | null)?.close(isClosed.resolve);
  await isClosed.promise;
});
