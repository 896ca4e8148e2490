/** The main thread's side of an attempt that runs in a thread: it does what the handler there asks for. */
import type { Json } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { Deferred } from '../../../kit/index.ts';
import type { LogFields, TaskContext, Transaction } from '../executor.ts';
import type { OutputStream } from '../output-lines.ts';
import { attemptHooksOf } from '../attempt-hooks.ts';
import type { AttemptHooks } from '../attempt-hooks.ts';
import { ErrorPost } from './error-post.ts';
import type { Outcome, Request, ThreadTask, ToThread, Word } from './messages.ts';

/** Suspended: there is no end, and the thread is free. */
export type RemoteEnd =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'thrown'; readonly error: unknown }
  | { readonly kind: 'suspended' };

export class RemoteAttempt {
  readonly #no: number;
  readonly #context: TaskContext;
  readonly #post: (message: ToThread) => void;
  readonly #attemptHooks: AttemptHooks | undefined;
  readonly #errors: ErrorPost = new ErrorPost();
  readonly #ended: Deferred<RemoteEnd> = deferred();
  /** Functions that run in the thread, by request. */
  readonly #asked: Map<number, Deferred<unknown>> = new Map();
  readonly #holds: Map<number, () => void> = new Map();

  constructor(no: number, context: TaskContext, post: (message: ToThread) => void) {
    this.#no = no;
    this.#context = context;
    this.#post = post;
    this.#attemptHooks = attemptHooksOf(context);
  }

  get ended(): Promise<RemoteEnd> {
    return this.#ended.promise;
  }

  start(task: ThreadTask, input: Json): void {
    const { jobId, taskId, attempt, run, fence, idempotencyKey, scheduledAt } = this.#context;
    const { startedBy, labels, traceHeaders = {} } = this.#context;
    const facts = {
      ...{ jobId, taskId, attempt, run, fence, idempotencyKey, scheduledAt },
      ...{ startedBy, labels, traceHeaders },
    };
    this.#attemptHooks?.onSuspended(() => {
      this.#post({ attempt: this.#no, type: 'drop' });
      this.#ended.resolve({ kind: 'suspended' });
    });
    this.#post({ attempt: this.#no, type: 'run', task, input, facts });
  }

  abort(reason: unknown): void {
    this.#post({ attempt: this.#no, type: 'abort', reason: this.#errors.pack(reason) });
  }

  /** The thread is gone. */
  fail(error: unknown): void {
    this.#dropAsked(error);
    this.#ended.resolve({ kind: 'thrown', error });
  }

  hear(words: readonly Word[]): void {
    for (const word of words) this.#hear(word);
    // After all requests of that message: until then it is unknown what the handler does next.
    for (const word of words) {
      if (word.type !== 'took') continue;
      this.#holds.get(word.no)?.();
      this.#holds.delete(word.no);
    }
  }

  /** The thread has printed a line. */
  output(stream: OutputStream, line: string): void {
    this.#context.output?.(stream, line);
  }

  #hear(word: Word): void {
    switch (word.type) {
      case 'request':
        this.#do(word.no, word.request).then(
          (value) => this.#answer(word.no, { isOk: true, value }),
          (error: unknown) => {
            this.#answer(word.no, { isOk: false, error: this.#errors.pack(error) });
          },
        );
        return;
      case 'answer':
        return this.#answered(word.no, word.outcome);
      case 'took':
        return;
      case 'progress':
        return this.#context.progress(word.fraction, word.note);
      case 'log':
        return this.#context.log[word.level](
          word.message,
          word.fields === undefined ? undefined : (JSON.parse(word.fields) as LogFields),
        );
      case 'end':
        return this.#end(word.outcome);
    }
  }

  /** What is not asked in the right way throws, and that is an answer too. */
  async #do(no: number, request: Request): Promise<unknown> {
    const context = this.#context;
    switch (request.member) {
      case 'step':
        return context.step(request.name, () => this.#ask(no, []));
      case 'sleep':
        return context.sleep(request.name, request.until);
      case 'waitFor':
        return context.waitFor(request.name, request.options);
      case 'waitForEvent':
        return context.waitForEvent(request.name, request.event, request.options);
      case 'unfit':
        return this.#attemptHooks?.unfit(request.name, request.step, request.why);
      case 'call': {
        const { document, what } = request;
        const callable = { name: what, toDocument: () => document, readResult: same };
        return context.call(request.name, callable, null);
      }
      case 'submit': {
        const { document, what, options } = request;
        const callable = { name: what, toDocument: () => document, readResult: same };
        return context.submit(request.name, callable, null, options);
      }
      case 'send':
        return context.send(request.name, request.event, request.data, request.options);
      case 'map': {
        const { tasks, what, options } = request;
        const mappable = { name: what, toTask: (task: TaskBody) => task, readResult: same };
        return context.map(request.name, mappable, tasks, options);
      }
      case 'completeWith':
        return context.completeWith(this.#transaction(no, request.has), request.result);
    }
  }

  /** It lives in the thread, with its connection; here is what looks like it. */
  #transaction(no: number, has: readonly string[]): Transaction {
    const rows = async (text: string, parameters: string[]): Promise<unknown[]> =>
      (await this.#ask(no, [text, parameters])) as unknown[];
    const parts = {
      unsafe: rows,
      query: async (text: string, parameters: string[]) => ({ rows: await rows(text, parameters) }),
      begin: () => {},
      totalCount: 0,
    };
    const given = Object.entries(parts).filter(([part]) => has.includes(part));
    return Object.fromEntries(given) as unknown as Transaction;
  }

  #ask(no: number, args: readonly unknown[]): Promise<unknown> {
    const answer = deferred<unknown>();
    this.#asked.set(no, answer);
    this.#post({ attempt: this.#no, type: 'ask', no, args });
    return answer.promise;
  }

  #answered(no: number, outcome: Outcome): void {
    const asked = this.#asked.get(no);
    this.#asked.delete(no);
    if (outcome.isOk) asked?.resolve(outcome.value);
    else asked?.reject(this.#errors.unpack(outcome.error));
  }

  /** Functions in the thread that will never report: what waits for them here must not wait for ever. */
  #dropAsked(error: unknown): void {
    for (const asked of this.#asked.values()) asked.reject(error);
    this.#asked.clear();
  }

  #answer(no: number, outcome: Outcome): void {
    const release = this.#attemptHooks?.hold();
    if (release !== undefined) this.#holds.set(no, release);
    this.#post({ attempt: this.#no, type: 'answer', no, outcome });
  }

  #end(outcome: Outcome): void {
    for (const release of this.#holds.values()) release();
    this.#holds.clear();
    this.#dropAsked(new Error('the handler has ended'));
    if (outcome.isOk) {
      this.#ended.resolve({ kind: 'value', value: JSON.parse(outcome.value as string) });
    } else {
      this.#ended.resolve({ kind: 'thrown', error: this.#errors.unpack(outcome.error) });
    }
  }
}

type TaskBody = Readonly<Record<string, unknown>>;

function same(result: Json): Json {
  return result;
}
