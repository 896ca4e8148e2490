import type { Json, JsonObject } from '../core/index.ts';

/** A number may be written longer than it came: `1e20` has twenty-one digits. */
const GROWTH_MAX = 6;

/** The value as JSON text, unless that has more than `bytesMax` bytes: results that occur in it many times can make it
 * larger than any memory. `about` is its length if nothing in it grows when written; null means too large. */
export function boundedText(value: Json, about: number, bytesMax: number): string | null {
  if (about * GROWTH_MAX > bytesMax && jsonBytes(value, bytesMax) > bytesMax) return null;
  return JSON.stringify(value);
}

/** How many bytes the value has as JSON. Ends early with some higher number than `bytesMax`. */
function jsonBytes(value: Json, bytesMax: number): number {
  let bytes = 0;
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === null || typeof next !== 'object') bytes += Buffer.byteLength(JSON.stringify(next));
    else if (Array.isArray(next)) {
      const list = next as readonly Json[];
      // Brackets and commas.
      bytes += Math.max(2, list.length + 1);
      for (const each of list) open.push(each);
    } else {
      const entries = Object.entries(next as JsonObject);
      bytes += Math.max(2, entries.length + 1);
      for (const [key, each] of entries) {
        bytes += Buffer.byteLength(JSON.stringify(key)) + 1;
        open.push(each);
      }
    }
    if (bytes > bytesMax) return bytes;
  }
  return bytes;
}
