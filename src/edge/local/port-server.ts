/** The other end of a message port: the one that answers. Answers that are ready together travel together. */
import type { MessagePort } from 'node:worker_threads';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { type Answered, eachIn, errorParts, ITEMS, type Sent } from './messages.ts';

/** `signal` aborts when the caller waits no longer. It is only made if the method asks for it. */
export type Method = (args: never, signal: () => AbortSignal) => Promise<unknown>;

/** One of which thousands wait at the same time: it needs neither a promise nor a signal. Returns how to wait no longer. */
export type Wait = (
  args: never,
  answer: (value: unknown) => void,
  refuse: (error: unknown) => void,
) => () => void;

export interface LocalMethods {
  readonly methods: Readonly<Record<string, Method>>;
  readonly waits?: Readonly<Record<string, Wait>>;
}

export interface PortServerOptions extends LocalMethods {
  readonly port: MessagePort;
  /** Something that no caller is to blame for. */
  readonly onFault: (error: unknown) => void;
}

/** Answers until the port is closed. */
export function servePort({ port, methods, waits = {}, onFault }: PortServerOptions): void {
  /** How those calls are ended that can be. */
  const parked = new Map<number, () => void>();
  const answers = new Answers(port);
  const begin = (no: number, name: string, args: unknown): void => {
    const answer = (value: unknown): void => {
      parked.delete(no);
      answers.put(no, true, value);
    };
    const refuse = (error: unknown): void => {
      parked.delete(no);
      if (!isMillraceError(error)) onFault(error);
      answers.put(no, false, errorParts(error));
    };
    const signal = (): AbortSignal => {
      const life = new AbortController();
      parked.set(no, () => life.abort());
      return life.signal;
    };
    try {
      const [method, wait] = [methods[name], waits[name]];
      if (wait !== undefined) parked.set(no, wait(args as never, answer, refuse));
      else if (method !== undefined) method(args as never, signal).then(answer, refuse);
      else throw new Error(`There is no method ${name}.`);
    } catch (error) {
      refuse(error);
    }
  };
  port.on('message', (calls: Sent) => {
    for (let at = 0; at < calls.length; at += ITEMS) {
      const no = calls[at] as number;
      const name = calls[at + 1] as string | null;
      if (name !== null) begin(no, name, calls[at + 2]);
      else {
        const end = parked.get(no);
        parked.delete(no);
        end?.();
      }
    }
  });
  port.on('close', () => {
    for (const end of parked.values()) end();
  });
}

class Answers {
  readonly #port: MessagePort;
  #ready: unknown[] = [];

  constructor(port: MessagePort) {
    this.#port = port;
  }

  put(no: number, isOk: boolean, value: unknown): void {
    this.#ready.push(no, isOk, value);
    // A commit settles many calls, each a few microtasks after another.
    if (this.#ready.length === ITEMS) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const ready = this.#ready;
    this.#ready = [];
    try {
      this.#port.postMessage(ready satisfies Answered, []);
    } catch {
      for (const answer of eachIn(ready)) this.#sendAlone(answer);
    }
  }

  /** Something in an answer cannot be copied: its caller hears that, and the others have theirs. */
  #sendAlone(answer: Answered): void {
    try {
      this.#port.postMessage(answer, []);
    } catch (error) {
      this.#port.postMessage([answer[0], false, errorParts(error)] satisfies Answered, []);
    }
  }
}
