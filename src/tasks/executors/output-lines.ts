/** Cuts what a process or a thread prints into lines. */
import { StringDecoder } from 'node:string_decoder';

export type OutputStream = 'stdout' | 'stderr';

/** Longer lines are cut into several. */
const LINE_CHARS_MAX = 8_192;

export class OutputLines {
  readonly #emit: (stream: OutputStream, line: string) => void;
  readonly #open: Record<OutputStream, { readonly decoder: StringDecoder; text: string }> = {
    stdout: { decoder: new StringDecoder('utf8'), text: '' },
    stderr: { decoder: new StringDecoder('utf8'), text: '' },
  };

  constructor(emit: (stream: OutputStream, line: string) => void) {
    this.#emit = emit;
  }

  push(stream: OutputStream, chunk: Buffer): void {
    const open = this.#open[stream];
    const lines = (open.text + open.decoder.write(chunk)).split(/\r?\n/);
    open.text = lines.pop() ?? '';
    for (const line of lines) this.#line(stream, line);
    while (open.text.length > LINE_CHARS_MAX) {
      this.#emit(stream, open.text.slice(0, LINE_CHARS_MAX));
      open.text = open.text.slice(LINE_CHARS_MAX);
    }
  }

  /** What was printed without a line end. */
  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const open = this.#open[stream];
      this.#line(stream, open.text + open.decoder.end());
      open.text = '';
    }
  }

  #line(stream: OutputStream, line: string): void {
    for (let from = 0; from < line.length; from += LINE_CHARS_MAX) {
      this.#emit(stream, line.slice(from, from + LINE_CHARS_MAX));
    }
  }
}
