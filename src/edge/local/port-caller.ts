/** One end of a message port: the one that asks. Calls of one turn of the event loop travel together. */
import type { MessagePort } from 'node:worker_threads';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ErrorParts } from '../../scheduler/core/index.ts';
import { type Answered, eachIn, ITEMS, portClosed, type Sent } from './messages.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly under: SignalCalls | null;
}

interface SignalCalls {
  readonly signal: AbortSignal;
  readonly calls: Set<number>;
  readonly cancel: () => void;
}

export class PortCaller {
  readonly #port: MessagePort;
  readonly #waiting: Map<number, Waiting> = new Map();
  /** The calls that end with a signal. */
  readonly #bySignal: Map<AbortSignal, SignalCalls> = new Map();
  #last = 0;
  #queue: unknown[] = [];
  #isClosed = false;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (answers: Answered) => {
      for (let at = 0; at < answers.length; at += ITEMS) {
        this.#answered(answers[at] as number, answers[at + 1] === true, answers[at + 2]);
      }
    });
    port.on('close', () => this.#over());
  }

  /** Settles with the answer; rejects with a `MillraceError`, or with the signal's reason when that aborts first. */
  call(method: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#isClosed) return Promise.reject(portClosed());
    this.#last += 1;
    const no = this.#last;
    const under = signal === undefined ? null : this.#callsOf(signal);
    under?.calls.add(no);
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(no, { resolve, reject, under });
    });
    this.#send(no, method, args);
    return answer;
  }

  /** The thread may end although this port is open. */
  unref(): void {
    this.#port.unref();
  }

  close(): void {
    this.#port.close();
    this.#over();
  }

  /** One listener for all calls of a signal: each further one is compared with all before it, and a list of jobs has
   * thousands of calls under one signal. */
  #callsOf(signal: AbortSignal): SignalCalls {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known;
    const calls = new Set<number>();
    const cancel = (): void => {
      for (const no of calls) this.#cancel(no, signal);
    };
    const under = { signal, calls, cancel };
    this.#bySignal.set(signal, under);
    signal.addEventListener('abort', cancel, { once: true });
    return under;
  }

  /** The call of this number waits no longer. */
  #take(no: number): Waiting | undefined {
    const waiting = this.#waiting.get(no);
    this.#waiting.delete(no);
    const under = waiting?.under ?? null;
    if (under === null) return waiting;
    under.calls.delete(no);
    if (under.calls.size > 0) return waiting;
    this.#bySignal.delete(under.signal);
    under.signal.removeEventListener('abort', under.cancel);
    return waiting;
  }

  #cancel(no: number, signal: AbortSignal): void {
    const waiting = this.#take(no);
    if (waiting === undefined) return;
    if (!this.#isClosed) this.#send(no, null, null);
    waiting.reject(signal.reason);
  }

  #send(no: number, method: string | null, args: unknown): void {
    this.#queue.push(no, method, args);
    if (this.#queue.length === ITEMS) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    if (this.#isClosed) return;
    try {
      this.#port.postMessage(queue satisfies Sent, []);
    } catch {
      // Something in it cannot be copied: only that call fails.
      for (const sent of eachIn(queue)) this.#sendAlone(sent);
    }
  }

  #sendAlone(sent: Sent): void {
    try {
      this.#port.postMessage(sent, []);
    } catch (error) {
      this.#take(sent[0] as number)?.reject(error);
    }
  }

  #answered(no: number, isOk: boolean, value: unknown): void {
    const waiting = this.#take(no);
    if (isOk) waiting?.resolve(value);
    else waiting?.reject(new MillraceError(value as ErrorParts));
  }

  #over(): void {
    this.#isClosed = true;
    for (const no of [...this.#waiting.keys()]) this.#take(no)?.reject(portClosed());
  }
}
