/** The named steps of one attempt: what earlier attempts have finished is not done again. */
import { MillraceError } from '../core/index.ts';
import type { LeaseName, ReportItem } from '../core/index.ts';
import { FatalError, jsonText } from '../executors/index.ts';
import type { StepRecord } from '../protocol/index.ts';
import type { ItemVerdict } from './outbox.ts';
import { leaseLost } from './session-error.ts';

export interface StepOwner {
  readonly lease: LeaseName;
  readonly taskId: string;
  readonly steps: readonly StepRecord[];
}

type Put = (item: ReportItem, onVerdict: (verdict: ItemVerdict) => void) => void;

export class Steps {
  readonly #owner: StepOwner;
  readonly #signal: AbortSignal;
  readonly #put: Put;
  /** Finished or under way: who asks for the same name twice waits for the same answer. */
  readonly #bodies: Map<string, Promise<string>>;

  constructor(owner: StepOwner, signal: AbortSignal, put: Put) {
    this.#owner = owner;
    this.#signal = signal;
    this.#put = put;
    this.#bodies = new Map(owner.steps.map(({ name, body }) => [name, Promise.resolve(body)]));
  }

  async run<T>(name: string, fn: () => T | Promise<T>): Promise<T> {
    if (typeof name !== 'string' || name === '') {
      throw new MillraceError({ code: 'bad_input', what: 'A step needs a name.' });
    }
    let body = this.#bodies.get(name);
    if (body === undefined) {
      body = this.#record(name, fn);
      this.#bodies.set(name, body);
      // A step that failed may be tried again by the handler itself.
      body.catch(() => this.#bodies.delete(name));
    }
    return JSON.parse(await body) as T;
  }

  /** The handler goes on after the leader has the step: otherwise another attempt would repeat it. */
  async #record(name: string, fn: () => unknown): Promise<string> {
    this.#signal.throwIfAborted();
    const result = jsonText(await fn());
    if (!result.isJson) throw new FatalError(`the result of step ${name} ${result.fault}`);
    this.#signal.throwIfAborted();
    const { lease, taskId } = this.#owner;
    const body = result.text;
    await new Promise<void>((resolve, reject) => {
      // Whoever aborts says why, as a MillraceError.
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      const stop = (): void => reject(this.#signal.reason);
      this.#signal.addEventListener('abort', stop, { once: true });
      this.#put({ kind: 'step', lease, name, body }, (verdict) => {
        this.#signal.removeEventListener('abort', stop);
        if (verdict === 'ok') resolve();
        else reject(leaseLost(taskId));
      });
    });
    return body;
  }
}
