/** Refuses payloads that are too large to be sent to the leader. */
import { MillraceError, utf8Bytes } from '../../scheduler/core/index.ts';
import { PAYLOAD_BYTES_MAX } from '../../scheduler/contract/index.ts';

/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;

export function tooLarge(what: string, text: string): MillraceError | null {
  if (text.length * BYTES_A_CHARACTER <= PAYLOAD_BYTES_MAX) return null;
  const bytes = utf8Bytes(text);
  if (bytes <= PAYLOAD_BYTES_MAX) return null;
  return new MillraceError({
    code: 'too_large',
    what: `${what} is ${bytes} bytes, more than the limit of ${PAYLOAD_BYTES_MAX}.`,
    todo: 'Store large data in a file or an object store, and return its location.',
  });
}
