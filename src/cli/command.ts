import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { ExitCode } from './exit.ts';
import type { Terminal } from './view/terminal.ts';

/** The world outside as a command sees it; tests pass their own. */
export interface Surroundings {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Behind stderr, if people look at it. */
  readonly terminal?: Terminal | null;
  /** Behind stdout, if people look at it. */
  readonly page?: Terminal | null;
  /** Bytes to stdout, as fast as it takes them; without it they go through `out` as text. */
  readonly write?: (bytes: Uint8Array) => Promise<void>;
  /** What a shell reads. A function, because a standard input that was touched keeps the process alive. */
  readonly input?: () => Readable & { readonly isTTY?: boolean };
}

/** One way to speak for all commands: people read stderr or stdout, with `--json` machines read stdout. */
export interface Reply {
  /** A line for people. */
  readonly say: (line: string) => void;
  /** The answer for machines; printed only with `--json`. */
  answer(value: unknown): void;
  /** A line about what goes on, beside the answer: always on stderr. */
  readonly note: (line: string) => void;
  readonly terminal: Terminal | null;
  /** The terminal that the answer is read on; null if it is not for people. */
  readonly page: Terminal | null;
  /** The answer itself, when it is not a line and no object: always on stdout. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly input: NonNullable<Surroundings['input']> | null;
  /** Notes go there until the returned function is called, because something else draws on the terminal. */
  printThrough(print: (line: string) => void): () => void;
}

/** What each module in `commands/` exports as `command`. */
export interface CommandModule {
  /** Lines that work when pasted. */
  readonly examples: readonly string[];
  /** Adds arguments and options; `--json`, `--debug` and `--help` are there already. */
  declare(command: Command): void;
  run(command: Command, reply: Reply, signal: AbortSignal): Promise<ExitCode>;
}

/** What every command has. */
export function declareShared(command: Command): void {
  command
    .option('--json', 'print JSON on stdout; human-readable text goes to stderr')
    .option('--debug', 'show stack traces');
}
