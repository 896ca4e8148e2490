/**
 * Unexpected ends of a worker's process that user code causes: uncaught errors, and calls of `process.exit`. It is
 * unknown which task it was, and in what state the others are now, so the process reports it and ends, and everything
 * that it held runs again.
 */
import { writeSync } from 'node:fs';
import { classifyFailure } from '../../tasks/executors/index.ts';

export interface UnexpectedExitOptions {
  /** Tasks whose handlers run at this moment. */
  readonly atWork: () => readonly string[];
  /** It was asked to leave, so it may end. */
  readonly isLeaving: () => boolean;
  /** Says it and ends the process. */
  readonly die: (error: Error) => void;
}

/** Mistakes in modules: a restart would only repeat them. */
const WRONG_USE = 2;
const WORK_FAILED = 1;

export class UnexpectedExit {
  readonly #options: UnexpectedExitOptions;
  #isLoading = true;

  constructor(options: UnexpectedExitOptions) {
    this.#options = options;
    process.on('uncaughtException', this.#uncaught);
    process.on('unhandledRejection', this.#unhandled);
    process.on('exit', this.#exited);
  }

  /** The modules are loaded: from now on handlers run. */
  loaded(): void {
    this.#isLoading = false;
  }

  close(): void {
    process.off('uncaughtException', this.#uncaught);
    process.off('unhandledRejection', this.#unhandled);
    process.off('exit', this.#exited);
  }

  readonly #uncaught = (thrown: unknown): void => this.#die('An error', thrown);
  readonly #unhandled = (thrown: unknown): void => this.#die('A rejected promise', thrown);

  #die(what: string, thrown: unknown): void {
    const { message } = classifyFailure(thrown).error;
    this.#options.die(
      new Error(
        `${what} was not caught and ends this worker: ${message}${placeOf(thrown)}. ${this.#lost()} ` +
          'Await every promise of a handler, and catch errors in its callbacks.',
      ),
    );
  }

  /** Written at once: this is the last moment. An orderly end looks different to the parent process. */
  readonly #exited = (code: number): void => {
    if (this.#options.isLeaving()) return;
    const call = `process.exit(${code})`;
    if (this.#isLoading) {
      process.exitCode = WRONG_USE;
      writeSync(2, `millrace: A module called ${call} while it was being loaded.\n`);
      return;
    }
    process.exitCode = WORK_FAILED;
    writeSync(2, `millrace: A handler called ${call}, so this worker exits. ${this.#lost()}\n`);
  };

  #lost(): string {
    const tasks = this.#options.atWork();
    if (tasks.length === 0) return 'No task was running.';
    const more = tasks.length > SHOWN_MAX ? ` and ${tasks.length - SHOWN_MAX} more` : '';
    return `Running: ${tasks.slice(0, SHOWN_MAX).join(', ')}${more}; they run again.`;
  }
}

const SHOWN_MAX = 20;

/** Where it was thrown, as the first line of the stack has it. */
function placeOf(thrown: unknown): string {
  const stack = thrown instanceof Error ? String(thrown.stack) : '';
  const place = /^ +at (?:.*\()?((?:file:|\/|[A-Za-z]:\\).*:\d+:\d+)\)?$/m.exec(stack)?.[1];
  return place === undefined ? '' : `, thrown at ${place}`;
}
