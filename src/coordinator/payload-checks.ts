/** JSON text that workers and clients hand in, before it is stored. */
import { utf8Bytes } from '../core/index.ts';

/** No character takes more bytes than this. */
const BYTES_A_CHARACTER = 3;

/** Deeper JSON cannot be written again by the platform: whoever passed it on would fail. */
const DEPTH_MAX = 1_000;

/** As the end of a sentence; null when it is small enough. */
export function sizeFault(text: string, bytesMax: number): string | null {
  if (text.length * BYTES_A_CHARACTER <= bytesMax) return null;
  const bytes = utf8Bytes(text);
  return bytes <= bytesMax ? null : `is ${bytes} bytes long, ${bytesMax} are allowed`;
}

/** What is wrong with the text, as the end of a sentence; null when nothing is. */
export function payloadFault(text: string, bytesMax: number): string | null {
  const large = sizeFault(text, bytesMax);
  if (large !== null) return large;
  if (/\p{Surrogate}/u.test(text)) return 'has half of a surrogate pair in it';
  try {
    JSON.parse(text);
  } catch {
    return 'is not JSON';
  }
  return isDeep(text) ? `is nested deeper than ${DEPTH_MAX} levels` : null;
}

/** Of text that is JSON. */
function isDeep(text: string): boolean {
  // A level takes two characters.
  if (text.length <= DEPTH_MAX * 2) return false;
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) isQuoted = !isQuoted;
    else if (isQuoted) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1;
      if (depth > DEPTH_MAX) return true;
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c] as const;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d] as const;

/** Names of steps stand in an index, whose entries are short. */
const STEP_NAME_BYTES_MAX = 1_000;

export function stepNameFault(name: string): string | null {
  if (name === '') return 'is empty';
  if (name.length <= STEP_NAME_BYTES_MAX && utf8Bytes(name) <= STEP_NAME_BYTES_MAX) return null;
  return `is over ${STEP_NAME_BYTES_MAX} bytes`;
}
