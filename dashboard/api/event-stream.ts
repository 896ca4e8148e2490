/** The event log as the server streams it, block by block. `EventSource` cannot send a token, so it is read by hand. */
export interface StreamBlock {
  /** The place in the log; hand it back to go on from there. */
  readonly id: string | null;
  readonly kind: string | null;
  readonly data: string | null;
}

/** Splits text that comes in pieces into blocks. Comments give no block. */
export class BlockReader {
  #rest = '';

  push(piece: string): StreamBlock[] {
    const parts = (this.#rest + piece).split('\n\n');
    this.#rest = parts.pop() ?? '';
    return parts.flatMap((text) => {
      const block = blockOf(text);
      return block.id === null && block.data === null ? [] : [block];
    });
  }
}

function blockOf(text: string): StreamBlock {
  let [id, kind, data]: (string | null)[] = [null, null, null];
  for (const line of text.split('\n')) {
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const value = line.slice(at + 1).replace(/^ /, '');
    switch (line.slice(0, at)) {
      case 'id':
        id = value;
        break;
      case 'event':
        kind = value;
        break;
      case 'data':
        data = data === null ? value : `${data}\n${value}`;
        break;
      default:
    }
  }
  return { id: id ?? null, kind: kind ?? null, data: data ?? null };
}
