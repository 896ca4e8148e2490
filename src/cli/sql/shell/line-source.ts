/** Where a shell's lines come from: an editor in a terminal, or a pipe. */
import { createInterface, type Interface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';
import { deferred } from '../../../kit/index.ts';
import type { Terminal } from '../../view/terminal.ts';
import { HISTORY_MAX } from './history.ts';

const AHEAD_MAX = 1_000;

export interface Editor {
  readonly input: Readable;
  readonly terminal: Terminal;
  /** The newest first. */
  readonly history: string[];
}

/** The editor's side of a terminal: silent while a query runs, so that what is typed ahead disturbs no output. */
class EditorOutput extends Writable {
  isMuted = false;
  readonly #terminal: Terminal;
  readonly #stopListening: () => void;

  constructor(terminal: Terminal) {
    super();
    this.#terminal = terminal;
    this.#stopListening = terminal.onResize(() => this.emit('resize'));
  }

  get columns(): number {
    return this.#terminal.columns;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.isMuted) this.#terminal.write(chunk.toString('utf8'));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stopListening();
    done(error);
  }
}

export class LineSource {
  readonly #reader: Interface;
  readonly #output: EditorOutput | null;
  readonly #lines: string[] = [];
  /** The newest first; readline adds each line to it. */
  history: string[];
  #isClosed = false;
  #wake: () => void = () => {};
  /** Ctrl-C in the editor. */
  onInterrupt: () => void = () => {};

  constructor(input: Readable, editor: Editor | null) {
    this.#output = editor === null ? null : new EditorOutput(editor.terminal);
    this.history = editor?.history ?? [];
    this.#reader = createInterface({
      input,
      crlfDelay: Infinity,
      ...(editor === null || this.#output === null
        ? {}
        : {
            output: this.#output,
            terminal: true,
            history: [...editor.history],
            historySize: HISTORY_MAX,
            removeHistoryDuplicates: true,
          }),
    });
    this.#reader.on('history', (history: string[]) => (this.history = history));
    this.#reader.on('SIGINT', () => this.onInterrupt());
    this.#reader.on('line', (line) => {
      this.#lines.push(line);
      // A long script waits in its pipe.
      if (this.#output === null && this.#lines.length > AHEAD_MAX) this.#reader.pause();
      this.#wake();
    });
    this.#reader.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  get isEditor(): boolean {
    return this.#output !== null;
  }

  /** Null at the end of the input, or when the signal aborts. */
  async next(prompt: string, signal: AbortSignal): Promise<string | null> {
    if (this.#output !== null && this.#lines.length === 0 && !this.#isClosed) {
      this.#output.isMuted = false;
      this.#reader.setPrompt(prompt);
      // What was typed while a query ran is kept and shown.
      this.#reader.prompt(true);
    }
    if (this.#lines.length === 0 && this.#output === null && !this.#isClosed) this.#reader.resume();
    while (this.#lines.length === 0 && !this.#isClosed && !signal.aborted) {
      const woken = deferred();
      const wake = (): void => woken.resolve();
      this.#wake = wake;
      signal.addEventListener('abort', wake, { once: true });
      await woken.promise;
      signal.removeEventListener('abort', wake);
    }
    if (this.#output !== null) this.#output.isMuted = true;
    return signal.aborted ? null : (this.#lines.shift() ?? null);
  }

  /** Drops what is on the current line, as a shell does at Ctrl-C. */
  drop(prompt: string): void {
    this.#reader.write(null, { ctrl: true, name: 'e' });
    this.#reader.write(null, { ctrl: true, name: 'u' });
    this.#output?.write('^C\n');
    this.#reader.setPrompt(prompt);
    this.#reader.prompt();
  }

  close(): void {
    if (!this.#isClosed) this.#reader.close();
    this.#output?.destroy();
  }
}
