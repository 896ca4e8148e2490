/** A task's context inside a thread: what it is asked goes to the real one, in the main thread. */
import { FatalError } from '../failure.ts';
import { HandlerCalls, describeCall } from '../handler-calls.ts';
import { jsonText } from '../result.ts';
import type {
  Callable,
  EventOptions,
  EventSend,
  MapOptions,
  Mappable,
  StepOptions,
  TaskContext,
  TaskLog,
  Transaction,
  WaitFor,
  WaitForEvent,
  WaitOptions,
} from '../executor.ts';
import { matchingSignal } from '../matching-signal.ts';
import type { OneEvent, OneSignal } from '../matching-signal.ts';
import { badInput } from '../fields.ts';
import type { Recorded } from '../json-types.ts';
import { withRetries } from '../step-retry.ts';
import type { NewJobOptions } from '../submit-options.ts';
import type { Json, JobId, TaskId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { Deferred, Duration } from '../../../kit/index.ts';
import { ErrorPost } from './error-post.ts';
import type { PackedError } from './error-post.ts';
import type { ContextFacts, Outcome, Request, Word } from './messages.ts';

type Callback = (...args: readonly unknown[]) => unknown;

/** By these the main thread knows a transaction from a pool. */
const TRANSACTION_PARTS = ['unsafe', 'query', 'begin', 'totalCount'];

/** Progress is not read more often than this, and a busy loop would fill the channel with it. */
const PROGRESS_MS = 50;

export class ThreadContext implements TaskContext {
  readonly #facts: ContextFacts;
  readonly #post: (words: readonly Word[]) => void;
  readonly #control: AbortController = new AbortController();
  readonly #errors: ErrorPost = new ErrorPost();
  /** Here, where the handler runs: the main thread awaits whatever is asked of it. */
  readonly #calls: HandlerCalls = new HandlerCalls((call) => {
    this.log.warn(
      `${describeCall(call)} was called after the handler had ended, and has no effect`,
    );
  });
  readonly #open: Map<
    number,
    { readonly answer: Deferred<unknown>; readonly fn: Callback | null }
  > = new Map();
  #words: Word[] = [];
  #isFlushing = false;
  #requests = 0;
  #toldProgressAtMs: number = Number.NEGATIVE_INFINITY;
  #laterProgress: NodeJS.Timeout | null = null;
  #isOver = false;
  /** In a transaction of the handler's own. */
  #isCompleted = false;

  constructor(facts: ContextFacts, post: (words: readonly Word[]) => void) {
    this.#facts = facts;
    this.#post = post;
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  get jobId(): JobId {
    return this.#facts.jobId;
  }

  get taskId(): TaskId {
    return this.#facts.taskId;
  }

  get attempt(): number {
    return this.#facts.attempt;
  }

  get run(): number {
    return this.#facts.run;
  }

  get fence(): number {
    return this.#facts.fence;
  }

  get idempotencyKey(): string {
    return this.#facts.idempotencyKey;
  }

  get scheduledAt(): Date | null {
    return this.#facts.scheduledAt;
  }

  get startedBy(): TaskContext['startedBy'] {
    return this.#facts.startedBy;
  }

  get labels(): TaskContext['labels'] {
    return this.#facts.labels;
  }

  get traceHeaders(): Readonly<Record<string, string>> {
    return this.#facts.traceHeaders ?? {};
  }

  // Functions, not methods: handlers take them out of the context by name.

  readonly progress = (fraction: number, note?: string): void => {
    const word: Word = { type: 'progress', fraction, note };
    const waitMs = this.#toldProgressAtMs + PROGRESS_MS - performance.now();
    if (this.#laterProgress !== null) clearTimeout(this.#laterProgress);
    this.#laterProgress = null;
    if (waitMs > 0) {
      this.#laterProgress = setTimeout(() => this.#tell(word), waitMs);
      this.#laterProgress.unref();
      return;
    }
    this.#toldProgressAtMs = performance.now();
    this.#tell(word);
  };

  readonly step = <T>(
    name: string,
    fn: () => T | Promise<T>,
    options?: StepOptions,
  ): Promise<Recorded<T>> =>
    this.#calls.begin({ kind: 'step', name }, async () => {
      const tried = withRetries(name, fn, options, this);
      const value = await this.#request({ member: 'step', name }, async () => {
        const result = jsonText(await this.#calls.within(name, tried));
        if (!result.isJson) {
          throw fatal('bad_step', `the result of step ${name} ${result.fault}`);
        }
        return JSON.parse(result.text) as unknown;
      });
      return value as Recorded<T>;
    });

  readonly sleep = (name: string, until: Duration | Date): Promise<void> =>
    this.#calls.begin({ kind: 'sleep', name }, async () => {
      await this.#request({ member: 'sleep', name, until });
    });

  readonly waitFor: WaitFor = (name: string, options?: WaitOptions) =>
    this.#calls.begin({ kind: 'wait', name: options?.as ?? name }, () => {
      const next = (each: OneSignal): Promise<unknown> =>
        this.#request({ member: 'waitFor', name, options: each });
      // A schema is code: it stays in the thread.
      return matchingSignal(next, options ?? {}, async (why, nth) => {
        this.log.warn(`ignoring a signal ${name} that does not match its schema: ${why}`);
        await this.#request({ member: 'unfit', name, step: `${options?.as ?? name}#${nth}`, why });
      }) as Promise<never>;
    });

  readonly waitForEvent: WaitForEvent = (name: string, event: string, options?: EventOptions) =>
    this.#calls.begin({ kind: 'event', name }, () => {
      const next = (each: OneEvent): Promise<unknown> =>
        this.#request({ member: 'waitForEvent', name, event, options: each });
      return matchingSignal(next, options ?? {}, async (why, nth) => {
        this.log.warn(`ignoring an event ${event} that does not match its schema: ${why}`);
        const step = `event/${name}#${nth}`;
        await this.#request({ member: 'unfit', name: event, step, why });
      }) as Promise<never>;
    });

  readonly call = <I, O>(name: string, what: Callable<I, O>, input: I): Promise<O> =>
    this.#calls.begin({ kind: 'call', name }, async () => {
      const document = await what.toDocument(input);
      const result = await this.#request({ member: 'call', name, what: what.name, document });
      return what.readResult(result as Json);
    });

  readonly submit = <I>(
    name: string,
    what: Callable<I, unknown>,
    input: I,
    options?: NewJobOptions,
  ): Promise<JobId> =>
    this.#calls.begin({ kind: 'submit', name }, async () => {
      const document = await what.toDocument(input);
      const request = { name, what: what.name, document, options };
      return (await this.#request({ member: 'submit', ...request })) as JobId;
    });

  readonly send = (
    name: string,
    event: string,
    data?: unknown,
    options?: EventSend,
  ): Promise<string> =>
    this.#calls.begin({ kind: 'send', name }, async () => {
      return (await this.#request({ member: 'send', name, event, data, options })) as string;
    });

  readonly map = <I, O>(
    name: string,
    what: Mappable<I, O>,
    items: readonly I[],
    options?: MapOptions,
  ): Promise<O[]> =>
    this.#calls.begin({ kind: 'map', name }, async () => {
      if (!Array.isArray(items)) {
        throw badInput('', `The items of the map ${name} are not a list.`, 'Pass an array.');
      }
      const tasks = items.map((item: I) => what.toTask(item));
      const results = await this.#request({ member: 'map', name, what: what.name, tasks, options });
      return Promise.all((results as readonly Json[]).map((result) => what.readResult(result)));
    });

  readonly completeWith = (transaction: Transaction, result: unknown): Promise<void> =>
    this.#calls.begin({ kind: 'completeWith', name: null }, async () => {
      const has = TRANSACTION_PARTS.filter((part) => part in Object(transaction));
      await this.#request({ member: 'completeWith', has, result }, async (text, parameters) => {
        const args = [text as string, parameters as string[]] as const;
        if ('unsafe' in transaction) return [...(await transaction.unsafe(...args))];
        return (await transaction.query(...args)).rows;
      });
      this.#isCompleted = true;
    });

  readonly log: TaskLog = {
    debug: (message, fields) => this.#log('debug', message, fields),
    info: (message, fields) => this.#log('info', message, fields),
    warn: (message, fields) => this.#log('warn', message, fields),
    error: (message, fields) => this.#log('error', message, fields),
  };

  /** What the main thread has to say. */
  abort(reason: PackedError): void {
    this.#control.abort(this.#errors.unpack(reason));
  }

  answer(no: number, outcome: Outcome): void {
    const open = this.#open.get(no);
    this.#open.delete(no);
    if (outcome.isOk) open?.answer.resolve(outcome.value);
    else open?.answer.reject(this.#errors.unpack(outcome.error));
    // Sent together with whatever the handler asks for next.
    this.#put({ type: 'took', no });
  }

  ask(no: number, args: readonly unknown[]): void {
    const fn = this.#open.get(no)?.fn;
    if (fn === undefined || fn === null) return;
    this.#outcomeOf(async () => fn(...args)).then(
      (outcome) => this.#put({ type: 'answer', no, outcome }),
      () => {},
    );
  }

  /** The handler came to its end: what it said before goes first. */
  async end(run: () => unknown): Promise<void> {
    const settled = await this.#outcomeOf(async () => {
      const result = jsonText(await run());
      if (result.isJson) return result.text;
      throw fatal('bad_result', `the result ${result.fault}`);
    });
    await this.#calls.ended(settled.isOk ? 'returned' : 'thrown', () => this.signal);
    const { fault } = this.#calls;
    // What was committed stands, whatever else the handler did.
    const stands = fault === null || (settled.isOk && this.#isCompleted);
    if (fault !== null && stands) this.log.error(fault.message);
    const outcome = stands ? settled : { isOk: false as const, error: this.#errors.pack(fault) };
    this.#put({ type: 'end', outcome });
    this.#flush();
    this.drop();
  }

  /** Nobody waits any more. What is open stays open: no catch and no finally of the handler runs. */
  drop(): void {
    this.#isOver = true;
    this.#open.clear();
    if (this.#laterProgress !== null) clearTimeout(this.#laterProgress);
  }

  #request(request: Request, fn: Callback | null = null): Promise<unknown> {
    const answer = deferred<unknown>();
    if (this.#isOver) return answer.promise;
    try {
      structuredClone(request);
    } catch {
      return Promise.reject(
        badInput('', `ctx.${request.member} was called with a value that is not plain data.`),
      );
    }
    this.#requests += 1;
    const no = this.#requests;
    this.#open.set(no, { answer, fn });
    this.#put({ type: 'request', no, request });
    return answer.promise;
  }

  async #outcomeOf(fn: () => Promise<unknown>): Promise<Outcome> {
    try {
      const value = await fn();
      structuredClone(value);
      return { isOk: true, value };
    } catch (error) {
      return { isOk: false, error: this.#errors.pack(error) };
    }
  }

  #log(level: keyof TaskLog, message: unknown, fields: unknown): void {
    this.#tell({ type: 'log', level, message: String(message), fields: fieldsText(fields) });
  }

  /** At once: even a handler that never yields its thread is heard. */
  #tell(word: Word): void {
    if (!this.#isOver) this.#post([word]);
  }

  #put(word: Word): void {
    this.#words.push(word);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    const words = this.#words;
    this.#words = [];
    this.#isFlushing = false;
    if (words.length > 0 && !this.#isOver) this.#post(words);
  }
}

function fatal(code: string, message: string): Error {
  return Object.assign(new FatalError(message), { code });
}

/** As text: what cannot be copied to another thread is not JSON either, and is left out. */
function fieldsText(fields: unknown): string | undefined {
  try {
    return JSON.stringify(fields);
  } catch {
    return undefined;
  }
}
