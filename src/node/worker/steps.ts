/** The named steps of one attempt: steps that earlier attempts have recorded are not executed again. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { LeaseName } from '../../scheduler/core/index.ts';
import { FatalError, jsonText } from '../../tasks/executors/index.ts';
import type { Recorded } from '../../tasks/executors/index.ts';
import type { StepRecord, WorkerReport } from '../../scheduler/contract/index.ts';
import type { ItemVerdict } from './outbox.ts';
import { tooLarge } from './payload-limit.ts';
import { leaseLost } from './session-error.ts';
import type { Suspension } from './suspension.ts';

export interface StepOwner {
  readonly lease: LeaseName;
  readonly taskId: string;
  readonly steps: readonly StepRecord[];
}

type Put = (item: WorkerReport, onVerdict: (verdict: ItemVerdict) => void) => void;

/** Names that begin with it are ours: see `wait-names.ts`. */
const OURS = '$';

export class Steps {
  readonly #owner: StepOwner;
  readonly #signal: AbortSignal;
  readonly #suspension: Suspension;
  readonly #put: Put;
  readonly #recorded: ReadonlyMap<string, string>;

  constructor(owner: StepOwner, signal: AbortSignal, suspension: Suspension, put: Put) {
    this.#owner = owner;
    this.#signal = signal;
    this.#suspension = suspension;
    this.#put = put;
    this.#recorded = new Map(owner.steps.map(({ name, body }) => [name, body]));
  }

  async run<T>(name: string, fn: () => T | Promise<T>): Promise<Recorded<T>> {
    checkName('step', name);
    if (typeof fn !== 'function') throw noFunction(name);
    return JSON.parse(await this.#body(name, fn)) as Recorded<T>;
  }

  /** The record of an earlier attempt, or of the leader itself, under this name. */
  recorded(name: string): string | undefined {
    return this.#recorded.get(name);
  }

  /** A step of Millrace itself, which only has to exist. */
  async keep(name: string, value: unknown): Promise<void> {
    await this.#body(name, () => value);
  }

  #body(name: string, fn: () => unknown): Promise<string> {
    const recorded = this.#recorded.get(name);
    return this.#suspension.during(() => recorded ?? this.#record(name, fn));
  }

  /** The handler goes on after the leader has the step: otherwise another attempt would repeat it. */
  async #record(name: string, fn: () => unknown): Promise<string> {
    this.#signal.throwIfAborted();
    const result = jsonText(await fn());
    if (!result.isJson) throw badStep(`the result of step ${name} ${result.fault}`);
    const body = result.text;
    const excess = tooLarge(`The result of step ${name}`, body);
    if (excess !== null) throw excess;
    await this.report({ kind: 'step', lease: this.#owner.lease, name, body });
    return body;
  }

  /** Resolves when the leader has taken it in. */
  report(item: WorkerReport): Promise<void> {
    this.#signal.throwIfAborted();
    return new Promise<void>((resolve, reject) => {
      // An abort carries its reason as a MillraceError.
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      const stop = (): void => reject(this.#signal.reason);
      this.#signal.addEventListener('abort', stop, { once: true });
      this.#put(item, (verdict) => {
        this.#signal.removeEventListener('abort', stop);
        if (verdict === 'ok') resolve();
        else reject(leaseLost(this.#owner.taskId));
      });
    });
  }
}

function noFunction(name: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The step ${name} has no function.`,
    todo: 'Pass a function as the second argument; it runs only if the step is not completed yet.',
  });
}

function badStep(message: string): Error {
  return Object.assign(new FatalError(message), { code: 'bad_step' });
}

/** Steps, sleeps and the like have names: without one no later attempt could find them. */
export function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') {
    throw new MillraceError({
      code: 'bad_input',
      what: `A ${what} needs a name.`,
      why: 'Later attempts find its recorded result by this name.',
      todo: `Pass a text as the first argument, unique for each ${what} of the handler.`,
    });
  }
  if (name.length > NAME_LENGTH_MAX) {
    throw new MillraceError({
      code: 'bad_input',
      what: `The name of a ${what} has ${name.length} characters; the limit is ${NAME_LENGTH_MAX}.`,
      todo: 'Use a short name, and keep data in the result.',
    });
  }
  if (UNSTORABLE.test(name)) {
    throw new MillraceError({
      code: 'bad_input',
      what: `The name of a ${what} contains a character that cannot be stored.`,
      why: 'Stored under a different name, it would not be found by later attempts.',
      todo: 'Remove NUL characters and unpaired surrogates.',
    });
  }
  if (!name.startsWith(OURS)) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `'${name}' is not a valid name for a ${what}.`,
    why: `Names that begin with ${OURS} are reserved for sleeps, signals and jobs.`,
    todo: 'Choose another name.',
  });
}

const NAME_LENGTH_MAX = 1_000;
/** With the u flag this matches lone surrogates only; pairs are one character to it. */
const UNSTORABLE = /[\p{Surrogate}\0]/u;
