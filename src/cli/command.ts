import type { Command } from 'commander';
import type { ExitCode } from './exit.ts';

/** The world outside as a command sees it; tests hand in their own. */
export interface Surroundings {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Aborts on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
}

/** One way to speak for all commands: people read stderr or stdout, with `--json` machines read stdout. */
export interface Reply {
  /** A line for people. */
  say(line: string): void;
  /** The answer for machines; printed only with `--json`. */
  answer(value: unknown): void;
}

/** What each module in `commands/` exports as `command`. */
export interface CommandModule {
  /** Lines that work when pasted. */
  readonly examples: readonly string[];
  /** Adds arguments and options; `--json`, `--debug` and `--help` are there already. */
  declare(command: Command): void;
  run(command: Command, reply: Reply, signal: AbortSignal): Promise<ExitCode>;
}
