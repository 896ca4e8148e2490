/** `millrace sql` without a query: statements from a terminal or a pipe, one after the other. */
import type { Readable } from 'node:stream';
import type { Reply } from '../../command.ts';
import { exit, type ExitCode, exitCodeOf } from '../../exit.ts';
import { plain, printable } from '../../table.ts';
import type { Terminal } from '../../view/terminal.ts';
import { type Backslash, backslashOf, HELP } from './backslash.ts';
import { joinLines, readHistory, writeHistory } from './history.ts';
import { LineSource } from './line-source.ts';
import { Statements } from './statements.ts';

export interface ShellMode {
  readonly isTimed: boolean;
  readonly isExpanded: boolean;
}

export interface ShellOptions {
  readonly input: Readable;
  /** Where lines are edited; null for a pipe. */
  readonly terminal: Terminal | null;
  readonly history: string;
  readonly reply: Reply;
  /** The shell itself ends. */
  readonly signal: AbortSignal;
  /** Runs one statement; its own signal cancels it. */
  readonly run: (sql: string, mode: ShellMode, signal: AbortSignal) => Promise<ExitCode>;
}

const PROMPT = 'millrace> ';
const MORE = '      -> ';

export class Shell {
  readonly #options: ShellOptions;
  readonly #source: LineSource;
  readonly #statements: Statements = new Statements();
  #mode: ShellMode = { isTimed: true, isExpanded: false };
  #running: AbortController | null = null;
  /** Lines of the statement that is being typed. */
  #lineCount = 0;
  #ran = 0;

  constructor(options: ShellOptions) {
    this.#options = options;
    const { input, terminal, history } = options;
    const editor = terminal === null ? null : { input, terminal, history: readHistory(history) };
    this.#source = new LineSource(input, editor);
    this.#source.onInterrupt = () => this.#interrupt();
  }

  /** In a terminal an error is reported and the shell continues; in a pipe it ends the shell with its exit code. */
  async run(): Promise<ExitCode> {
    const { reply, signal } = this.#options;
    const stop = (): void => this.#running?.abort();
    signal.addEventListener('abort', stop);
    try {
      if (this.#source.isEditor) reply.note('Statements end with ; and \\? lists the commands.');
      for (;;) {
        const line = await this.#source.next(this.#statements.isOpen ? MORE : PROMPT, signal);
        if (signal.aborted) return exit.interrupted;
        const code = line === null ? await this.#last() : await this.#take(line);
        if (code !== null) return code;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#source.close();
    }
  }

  /** How many statements were run. */
  get ran(): number {
    return this.#ran;
  }

  /** The exit code if the shell is over. */
  async #take(line: string): Promise<ExitCode | null> {
    const command = this.#commandIn(line);
    if (command !== null) {
      this.#remember(1);
      // The lines around it are not next to each other any more.
      this.#lineCount = -Infinity;
      return this.#obey(command);
    }
    this.#lineCount = this.#statements.isOpen ? this.#lineCount + 1 : 1;
    const complete = this.#statements.add(line);
    if (!this.#statements.isOpen) this.#remember(this.#lineCount);
    for (const sql of complete) {
      const code = await this.#execute(sql);
      if (code !== exit.done && !this.#source.isEditor) return code;
    }
    return null;
  }

  /** In the middle of a statement too: who is lost there types `\?` or `\q`. */
  #commandIn(line: string): Backslash | null {
    const { isOpen } = this.#statements;
    if (isOpen && (!/^\s*\\/.test(line) || this.#statements.isQuoted)) return null;
    return backslashOf(line);
  }

  /** The end of the input: a pipe may leave out the last semicolon, a person who leaves has no wish to run it. */
  async #last(): Promise<ExitCode> {
    const { terminal } = this.#options;
    if (terminal !== null) {
      terminal.write('\n');
      return exit.done;
    }
    const sql = this.#statements.rest();
    return sql === '' ? exit.done : this.#execute(sql);
  }

  async #obey(command: Backslash): Promise<ExitCode | null> {
    const { reply } = this.#options;
    const { isTimed, isExpanded } = this.#mode;
    switch (command.kind) {
      case 'quit':
        return exit.done;
      case 'help':
        for (const line of HELP) reply.note(line);
        return null;
      case 'timing':
        this.#mode = { isTimed: !isTimed, isExpanded };
        reply.note(`Timing is ${isTimed ? 'off' : 'on'}.`);
        return null;
      case 'expanded':
        this.#mode = { isTimed, isExpanded: !isExpanded };
        reply.note(`Expanded display is ${isExpanded ? 'off' : 'on'}.`);
        return null;
      case 'unknown':
        reply.note(plain(command.text));
        return this.#source.isEditor ? null : exit.wrongUse;
      case 'query': {
        const code = await this.#execute(command.sql);
        return this.#source.isEditor || code === exit.done ? null : code;
      }
    }
  }

  async #execute(sql: string): Promise<ExitCode> {
    const { reply, run, signal } = this.#options;
    const running = new AbortController();
    this.#running = running;
    this.#ran += 1;
    try {
      return await run(sql, this.#mode, running.signal);
    } catch (error) {
      if (signal.aborted || running.signal.aborted) return exit.interrupted;
      const message = error instanceof Error ? error.message : String(error);
      reply.note(`millrace: ${printable(message)}`);
      return exitCodeOf(error);
    } finally {
      this.#running = null;
    }
  }

  #interrupt(): void {
    if (this.#running !== null) return this.#running.abort();
    this.#statements.rest();
    this.#source.drop(PROMPT);
  }

  /** At once: a terminal that is closed gives no time for it. */
  #remember(lines: number): void {
    if (!this.#source.isEditor) return;
    joinLines(this.#source.history, lines);
    writeHistory(this.#options.history, this.#source.history);
  }
}
