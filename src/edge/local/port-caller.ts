/** One end of a message port: the one that asks. Calls of one turn of the event loop travel together. */
import type { MessagePort } from 'node:worker_threads';
import { MillraceError } from '../../scheduler/core/index.ts';
import { type Answered, portClosed, type Sent } from './messages.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface SignalCalls {
  readonly calls: Set<number>;
  readonly cancel: () => void;
}

export class PortCaller {
  readonly #port: MessagePort;
  readonly #waiting: Map<number, Waiting> = new Map();
  /** The calls that end with a signal. */
  readonly #bySignal: Map<AbortSignal, SignalCalls> = new Map();
  #last = 0;
  #queue: Sent[] = [];
  #isClosed = false;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (answers: readonly Answered[]) => {
      for (const answer of answers) this.#answered(answer);
    });
    port.on('close', () => this.#over());
  }

  /** Settles with the answer; rejects with a `MillraceError`, or with the signal's reason when that aborts first. */
  call(method: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#isClosed) return Promise.reject(portClosed());
    this.#last += 1;
    const no = this.#last;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(no, { resolve, reject });
    });
    this.#send([no, method, args]);
    return signal === undefined ? answer : this.#cancellable(no, answer, signal);
  }

  /** The thread may end although this port is open. */
  unref(): void {
    this.#port.unref();
  }

  close(): void {
    this.#port.close();
    this.#over();
  }

  async #cancellable(no: number, answer: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    const calls = this.#callsOf(signal);
    calls.add(no);
    try {
      return await answer;
    } finally {
      calls.delete(no);
      if (calls.size === 0) this.#forget(signal);
    }
  }

  /** One listener for all calls of a signal: each further one is compared with all before it, and a list of jobs has
   * thousands of calls under one signal. */
  #callsOf(signal: AbortSignal): Set<number> {
    const known = this.#bySignal.get(signal);
    if (known !== undefined) return known.calls;
    const calls = new Set<number>();
    const cancel = (): void => {
      for (const no of calls) this.#cancel(no, signal);
    };
    this.#bySignal.set(signal, { calls, cancel });
    signal.addEventListener('abort', cancel, { once: true });
    return calls;
  }

  #forget(signal: AbortSignal): void {
    const known = this.#bySignal.get(signal);
    if (known === undefined) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener('abort', known.cancel);
  }

  #cancel(no: number, signal: AbortSignal): void {
    const waiting = this.#waiting.get(no);
    if (waiting === undefined) return;
    this.#waiting.delete(no);
    if (!this.#isClosed) this.#send([no]);
    waiting.reject(signal.reason);
  }

  #send(sent: Sent): void {
    this.#queue.push(sent);
    if (this.#queue.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    if (this.#isClosed) return;
    try {
      this.#port.postMessage(queue, []);
    } catch {
      // Something in it cannot be copied: only that call fails.
      for (const sent of queue) this.#sendAlone(sent);
    }
  }

  #sendAlone(sent: Sent): void {
    try {
      this.#port.postMessage([sent], []);
    } catch (error) {
      const waiting = this.#waiting.get(sent[0]);
      this.#waiting.delete(sent[0]);
      waiting?.reject(error);
    }
  }

  #answered(answer: Answered): void {
    const [no, isOk] = answer;
    const waiting = this.#waiting.get(no);
    this.#waiting.delete(no);
    if (isOk) waiting?.resolve(answer[2]);
    else waiting?.reject(new MillraceError(answer[2]));
  }

  #over(): void {
    this.#isClosed = true;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(portClosed());
  }
}
