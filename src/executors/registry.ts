/** The executors of one worker, by name. */
import { MillraceError, didYouMean, isId } from '../core/index.ts';
import type { Executor } from './executor.ts';

export class ExecutorRegistry {
  readonly #byName: Map<string, { readonly executor: Executor; readonly from: string }> = new Map();

  /** `from` says where it comes from, for the message when two want the same name. */
  add(executor: Executor, from: string): void {
    const { name } = executor;
    if (!isId(name)) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines a task with the name ${JSON.stringify(name)}.`,
        todo: 'Use up to 200 letters, digits and _ . : @ + = -',
      });
    }
    const known = this.#byName.get(name);
    if (known !== undefined) {
      throw new MillraceError({
        code: 'bad_input',
        what: `${from} defines the task ${name}, and so does ${known.from}.`,
        todo: 'Give one of them another name.',
      });
    }
    this.#byName.set(name, { executor, from });
  }

  get(name: string): Executor | undefined {
    return this.#byName.get(name)?.executor;
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()].toSorted();
  }

  /** Before the first poll: a worker that lacks what it was deployed for must not start. */
  expect(names: readonly string[]): void {
    const missing = names.filter((name) => !this.#byName.has(name));
    if (missing.length === 0) return;
    const hints = missing.map((name) => `${name}${didYouMean(name, this.names)}`);
    throw new MillraceError({
      code: 'bad_input',
      what: `Expected but not registered on this worker: ${hints.join(', ')}.`,
      todo: `Load them with --module. Registered are: ${this.names.join(', ')}.`,
    });
  }
}
