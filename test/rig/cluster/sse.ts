/** Server-sent events as a test reads them: number, kind, text. */
export interface SseEvent {
  readonly id: number;
  /** The whole id, with the history that the number belongs to. */
  readonly place: string;
  readonly event: string;
  readonly data: string;
}

/** Ends with the stream; comments and hints are left out, but count as something `heard`. */
export async function* sseEvents(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    heard();
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = fieldsOf(block);
      const id = fields.get('id');
      if (id === undefined) continue;
      yield {
        id: Number.parseInt(id, 10),
        place: id,
        event: fields.get('event') ?? '',
        data: fields.get('data') ?? '',
      };
    }
  }
}

function fieldsOf(block: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 1).trimStart());
  }
  return fields;
}
