/**
 * A decoder leaves out the character U+FEFF at the beginning of a text, where it may be the mark of an encoding. DuckDB's library
 * decodes each value with one, so that values, and names of columns, would come without it. `decoder` is a `TextDecoder`, which the
 * library's types name without declaring it.
 */
export function keepMarks(decoder: unknown): void {
  const exact = new TextDecoder('utf-8', { ignoreBOM: true });
  (decoder as { decode: (bytes: Uint8Array) => string }).decode = (bytes) => exact.decode(bytes);
}
