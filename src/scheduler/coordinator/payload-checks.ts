/** JSON text that workers and clients submit, before it is stored. */
import { mayBeDeep, utf8Bytes } from '../core/index.ts';

/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;

/** The platform cannot write deeper JSON again, so passing it on would fail. */
const DEPTH_MAX = 1_000;

/** As the end of a sentence; null when it is small enough. */
export function sizeFault(text: string, bytesMax: number): string | null {
  if (text.length * BYTES_A_CHARACTER <= bytesMax) return null;
  const bytes = utf8Bytes(text);
  return bytes <= bytesMax ? null : `is ${bytes} bytes; the limit is ${bytesMax}`;
}

/** What is wrong with the text, as the end of a sentence; null when nothing is. */
export function payloadFault(text: string, bytesMax: number): string | null {
  const large = sizeFault(text, bytesMax);
  if (large !== null) return large;
  if (/[\0\p{Surrogate}]/u.test(text)) return 'contains NUL or an unpaired surrogate';
  try {
    JSON.parse(text);
  } catch {
    return 'is not JSON';
  }
  return mayBeDeep(text, DEPTH_MAX) ? `is nested deeper than ${DEPTH_MAX} levels` : null;
}

/** Names of steps are in an index, whose entries are short. */
const STEP_NAME_BYTES_MAX = 1_000;

export function stepNameFault(name: string): string | null {
  if (name === '') return 'is empty';
  if (name.length <= STEP_NAME_BYTES_MAX && utf8Bytes(name) <= STEP_NAME_BYTES_MAX) return null;
  return `is over ${STEP_NAME_BYTES_MAX} bytes`;
}
