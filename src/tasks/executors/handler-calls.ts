/**
 * What one handler asks of its context: steps, sleeps, waits, calls, submissions, maps. Each has its own name, each is awaited,
 * none begins after the handler has ended, and no wait begins inside a step. A handler that breaks one of these rules
 * would silently lose work, so the task fails for good, even if the handler catches the error.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { deferred } from '../../kit/index.ts';
import { CallPromise } from './call-promise.ts';
import { FatalError } from './failure.ts';

export type CallKind =
  | 'step'
  | 'sleep'
  | 'wait'
  | 'event'
  | 'call'
  | 'submit'
  | 'send'
  | 'map'
  | 'completeWith';

export interface HandlerCall {
  readonly kind: CallKind;
  /** Null for `completeWith`, which has none. */
  readonly name: string | null;
}

export type MisuseCode = 'duplicate_step' | 'unawaited_step' | 'wait_in_step';

/** A handler uses its context in a way that loses work. No repetition changes it. */
export class MisuseError extends FatalError {
  override readonly name = 'MisuseError';
  readonly code: MisuseCode;

  constructor(code: MisuseCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a handler has asked for. */
interface Asked {
  readonly names: Set<string>;
  /** Promises that have not been looked at. */
  readonly unseen: Map<object, HandlerCall>;
  /** Running steps and transactions: the attempt does not end before they do. */
  readonly working: Set<Promise<unknown>>;
}

type Phase = 'running' | 'returned' | 'over';

/** The step whose function runs, for the code that it calls. */
const around: AsyncLocalStorage<{ readonly calls: HandlerCalls; readonly step: string }> =
  new AsyncLocalStorage();

export class HandlerCalls {
  readonly #onLate: (call: HandlerCall) => void;
  /** Null until the handler asks for something: most never do. */
  #asked: Asked | null = null;
  #phase: Phase = 'running';
  #fault: MisuseError | null = null;

  /** `onLate` gets requests that were made after the handler had ended; they are not executed. */
  constructor(onLate: (call: HandlerCall) => void) {
    this.#onLate = onLate;
  }

  /** Once there is one, the task has failed, whatever the handler returns. */
  get fault(): MisuseError | null {
    return this.#fault;
  }

  get isUsed(): boolean {
    return this.#asked !== null;
  }

  begin<T>(call: HandlerCall, work: () => Promise<T>): Promise<T> {
    if (this.#phase === 'over') {
      this.#onLate(call);
      return new Promise(() => {});
    }
    if (this.#phase === 'returned') {
      this.#fault ??= begunTooLate(call);
      return new Promise(() => {});
    }
    this.#asked ??= { names: new Set(), unseen: new Map(), working: new Set() };
    const { unseen, working } = this.#asked;
    const promise = CallPromise.of(this.#refused(call, this.#asked) ?? work(), {
      made: (each) => void unseen.set(each, call),
      seen: (each) => void unseen.delete(each),
      fulfilled: (each) => void unseen.delete(each),
    });
    if (!isWait(call.kind)) hold(promise, working);
    return promise;
  }

  /** Runs the function of a step, and knows it when that asks for a wait. */
  within<T>(step: string, fn: () => T): T {
    return around.run({ calls: this, step }, fn);
  }

  /** The handler has ended. Resolves when its running steps have ended too, or when it is asked to stop; null when
   * nothing has to be waited for. */
  ended(how: 'returned' | 'thrown', signal: () => AbortSignal): Promise<void> | null {
    const asked = this.#asked;
    if (asked === null) {
      this.close();
      return null;
    }
    return this.#settled(how, signal, asked);
  }

  async #settled(
    how: 'returned' | 'thrown',
    signal: () => AbortSignal,
    asked: Asked,
  ): Promise<void> {
    if (how === 'returned') {
      const [unseen] = asked.unseen.values();
      if (unseen !== undefined) this.#fault ??= unawaited(unseen);
      if (this.#phase === 'running') this.#phase = 'returned';
    } else this.close();
    // With a fault the task has failed for good: there is nothing to wait for.
    while (asked.working.size > 0 && this.#fault === null && !signal().aborted) {
      await untilAborted(Promise.allSettled(asked.working), signal());
      // What follows the last step comes first: it may begin another one, which is not awaited.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    this.close();
  }

  /** Nobody waits for the handler any more. */
  close(): void {
    this.#phase = 'over';
  }

  #refused(call: HandlerCall, asked: Asked): Promise<never> | null {
    const fault = this.#fault ?? this.#faultOf(call, asked);
    if (fault === null) return null;
    this.#fault = fault;
    return Promise.reject(fault);
  }

  #faultOf(call: HandlerCall, { names }: Asked): MisuseError | null {
    const outer = around.getStore();
    if (outer?.calls === this && isOutside(call.kind)) return waitInStep(call, outer.step);
    // A name that is not text is refused where it is used.
    if (typeof call.name !== 'string') return null;
    const key = `${call.kind}/${call.name}`;
    if (names.has(key)) return duplicate(call);
    names.add(key);
    return null;
  }
}

function hold(promise: Promise<unknown>, working: Set<Promise<unknown>>): void {
  // Not by its own `then`: that would count as looking at it.
  const settled = Promise.prototype.then.call(
    promise,
    () => {},
    () => {},
  );
  working.add(settled);
  void settled.then(() => working.delete(settled));
}

async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = deferred();
  const stop = (): void => aborted.resolve();
  signal.addEventListener('abort', stop);
  await Promise.race([work, aborted.promise]);
  signal.removeEventListener('abort', stop);
}

/** The handler is suspended for it; what is not a wait runs to its end in the attempt. */
function isWait(kind: CallKind): boolean {
  return kind !== 'submit' && kind !== 'send' && isOutside(kind);
}

/** It has no place inside the function of a step. */
function isOutside(kind: CallKind): boolean {
  return kind !== 'step' && kind !== 'completeWith';
}

const MEMBERS: Readonly<Record<CallKind, string>> = {
  step: 'ctx.step',
  sleep: 'ctx.sleep',
  wait: 'ctx.waitFor',
  event: 'ctx.waitForEvent',
  call: 'ctx.call',
  submit: 'ctx.submit',
  send: 'ctx.send',
  map: 'ctx.map',
  completeWith: 'ctx.completeWith',
};

/** As it is written in the handler's code. */
export function describeCall({ kind, name }: HandlerCall): string {
  return name === null ? `${MEMBERS[kind]}(...)` : `${MEMBERS[kind]}('${name}')`;
}

const NOUNS: Readonly<Partial<Record<CallKind, string>>> = {
  submit: 'submission',
  event: 'wait for an event',
  send: 'sent event',
};

function duplicate(call: HandlerCall): MisuseError {
  const { kind, name } = call;
  const todo =
    kind === 'wait'
      ? "Give the second wait its own name: { as: 'second' }."
      : `Put the id of the item into the name, as in '${name} \${item.id}'.`;
  const noun = NOUNS[kind] ?? kind;
  const again = kind === 'step' ? ' To try a failed step again, give it { retry }.' : '';
  return new MisuseError(
    'duplicate_step',
    `The ${noun} '${name}' is used twice in one attempt. A ${noun} is identified by its name, so ` +
      `the second one would get the result of the first. ${todo}${again}`,
  );
}

function unawaited(call: HandlerCall): MisuseError {
  return new MisuseError(
    'unawaited_step',
    `The handler returned without awaiting ${describeCall(call)}. Its effect would be lost. ` +
      `Write 'await' before it, or return its promise.`,
  );
}

function begunTooLate(call: HandlerCall): MisuseError {
  return new MisuseError(
    'unawaited_step',
    `${describeCall(call)} was called after the handler had returned, and has no effect. ` +
      `Write 'await' before the function that calls it.`,
  );
}

function waitInStep(call: HandlerCall, step: string): MisuseError {
  const why =
    call.kind === 'submit' || call.kind === 'send'
      ? 'It is a step of its own: the function of a step that is repeated would not know of it.'
      : 'A step runs to its end in one attempt, and cannot be suspended.';
  return new MisuseError(
    'wait_in_step',
    `${describeCall(call)} is called inside the step '${step}'. ${why} Call it between two steps instead.`,
  );
}
