/** The other end of a message port: the one that answers. Answers that are ready together travel together. */
import type { MessagePort } from 'node:worker_threads';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { type Answered, errorParts, type Sent } from './messages.ts';

/** `signal` aborts when the caller waits no longer. It is only made if the method asks for it. */
export type Method = (args: never, signal: () => AbortSignal) => Promise<unknown>;

export interface PortServerOptions {
  readonly port: MessagePort;
  readonly methods: Readonly<Record<string, Method>>;
  /** Something that no caller is to blame for. */
  readonly onFault: (error: unknown) => void;
}

/** Answers until the port is closed. */
export function servePort({ port, methods, onFault }: PortServerOptions): void {
  const parked = new Map<number, AbortController>();
  const answers = new Answers(port);
  const begin = (no: number, name: string, args: unknown): void => {
    const method = methods[name];
    const signal = (): AbortSignal => {
      const life = new AbortController();
      parked.set(no, life);
      return life.signal;
    };
    const refuse = (error: unknown): void => {
      parked.delete(no);
      if (!isMillraceError(error)) onFault(error);
      answers.put([no, false, errorParts(error)]);
    };
    try {
      if (method === undefined) throw new Error(`There is no method ${name}.`);
      method(args as never, signal).then((value) => {
        parked.delete(no);
        answers.put([no, true, value]);
      }, refuse);
    } catch (error) {
      refuse(error);
    }
  };
  port.on('message', (calls: readonly Sent[]) => {
    for (const [no, name, args] of calls) {
      if (name === undefined) parked.get(no)?.abort();
      else begin(no, name, args);
    }
  });
  port.on('close', () => {
    for (const life of parked.values()) life.abort();
  });
}

class Answers {
  readonly #port: MessagePort;
  #ready: Answered[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  put(answer: Answered): void {
    this.#ready.push(answer);
    // A commit settles many calls, each a few microtasks after another.
    if (this.#ready.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const ready = this.#ready;
    this.#ready = [];
    try {
      this.#port.postMessage(ready, []);
    } catch {
      for (const answer of ready) this.#sendAlone(answer);
    }
  }

  /** Something in an answer cannot be copied: its caller hears that, and the others have theirs. */
  #sendAlone(answer: Answered): void {
    try {
      this.#port.postMessage([answer], []);
    } catch (error) {
      this.#port.postMessage([[answer[0], false, errorParts(error)] satisfies Answered], []);
    }
  }
}
