/**
 * Messages as bytes, one after the other into the same memory: to begin with little and grow by doubling costs several times the
 * memory of a message, all of it new and outside of the heap, which makes the collector look through the whole of that.
 */
import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** What was needed for a larger message is let go. */
const KEPT_BYTES = 1024 * 1024;

let writer = new BinaryWriter();

/** A copy: the next message overwrites what the writer has. */
export function bytesOfMessage<T>(
  message: T,
  type: { encode(message: T, writer: BinaryWriter): BinaryWriter },
): Buffer {
  try {
    type.encode(message, writer);
  } catch (thrown) {
    // Something of it is written already.
    writer = new BinaryWriter();
    throw thrown;
  }
  const { buffer, byteOffset, byteLength } = writer.finish();
  if (byteLength > KEPT_BYTES) writer = new BinaryWriter();
  return Buffer.from(buffer, byteOffset, byteLength);
}
