/** The context of a handler. Every part is created on first use: most are never used. */
import type { JobId, LeaseName, TaskId } from '../../scheduler/core/index.ts';
import {
  HandlerCalls,
  describeCall,
  matchingSignal,
  withRetries,
} from '../../tasks/executors/index.ts';
import type {
  Annotated,
  AttemptHooks,
  EventOptions,
  MisuseError,
  TaskContext,
  OutputStream,
  TaskLog,
  WaitFor,
  WaitForEvent,
  WaitOptions,
  WithAttemptHooks,
  OneEvent,
  OneSignal,
} from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import { idempotencyKeyOf } from '../../scheduler/contract/index.ts';
import type { ReadyAssignment, WorkerReport } from '../../scheduler/contract/index.ts';
import { type AttemptSpan, traceFields } from './attempt-span.ts';
import { Children } from './children.ts';
import { Completion } from './completion.ts';
import type { ItemVerdict } from './outbox.ts';
import { Steps } from './steps.ts';
import { Submissions } from './submissions.ts';
import { Suspension } from './suspension.ts';
import type { SuspensionOwner } from './suspension.ts';
import { Waits } from './waits.ts';

/** The attempt as its context knows it. */
export interface ContextOwner extends SuspensionOwner {
  readonly assignment: ReadyAssignment;
  readonly lease: LeaseName;
  readonly span: AttemptSpan | null;
  /** By the database's clock, or a little before it. */
  readonly nowMs: number;
  readonly log: TaskLog;
  output(stream: OutputStream, line: string): void;
  progress(fraction: number, note: string | null): void;
  /** The handler calls or maps over this: it needs these executors. */
  called(what: unknown, executors: readonly string[]): void;
  tell(item: WorkerReport, onVerdict: (verdict: ItemVerdict) => void): void;
}

export class AttemptContext implements TaskContext, WithAttemptHooks, Annotated {
  readonly #owner: ContextOwner;
  readonly #calls: HandlerCalls;
  #suspension: Suspension | null = null;
  #steps: Steps | null = null;
  #waits: Waits | null = null;
  #children: Children | null = null;
  #submissions: Submissions | null = null;
  #completion: Completion | null = null;

  constructor(owner: ContextOwner) {
    this.#owner = owner;
    this.#calls = new HandlerCalls((call) => {
      this.log.warn(
        `${describeCall(call)} was called after the handler had ended, and has no effect`,
      );
    });
  }

  get signal(): AbortSignal {
    return this.#owner.signal;
  }

  get jobId(): JobId {
    return this.#owner.assignment.jobId;
  }

  get taskId(): TaskId {
    return this.#owner.assignment.taskId;
  }

  get attempt(): number {
    return this.#owner.assignment.attempt;
  }

  get run(): number {
    return this.#owner.assignment.run;
  }

  get fence(): number {
    return this.#owner.lease.fence;
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.#owner.assignment);
  }

  get scheduledAt(): Date | null {
    const { scheduledAt } = this.#owner.assignment;
    return scheduledAt === null ? null : new Date(scheduledAt);
  }

  get startedBy(): TaskContext['startedBy'] {
    return this.#owner.assignment.about?.startedBy ?? null;
  }

  get labels(): TaskContext['labels'] {
    return this.#owner.assignment.about?.labels ?? {};
  }

  get traceHeaders(): Readonly<Record<string, string>> {
    return traceFields(this.#owner);
  }

  get annotate(): NonNullable<Annotated['annotate']> {
    return (attributes) => this.#owner.span?.set(attributes);
  }

  get log(): TaskLog {
    return this.#owner.log;
  }

  get output(): NonNullable<TaskContext['output']> {
    return (stream, line) => this.#owner.output(stream, line);
  }

  // Functions, not methods: handlers take them out of the context by name.

  get progress(): TaskContext['progress'] {
    return (fraction, note) => this.#owner.progress(fraction, note ?? null);
  }

  get step(): TaskContext['step'] {
    return (name, fn, options) =>
      this.#calls.begin({ kind: 'step', name }, () => {
        const tried = withRetries(name, fn, options, this);
        return this.#allSteps.run(
          name,
          typeof fn === 'function' ? () => this.#traced(name, tried) : fn,
        );
      });
  }

  get sleep(): TaskContext['sleep'] {
    return (name, until) =>
      this.#calls.begin({ kind: 'sleep', name }, () => this.#allWaits.sleep(name, until));
  }

  get waitFor(): WaitFor {
    return (name: string, given?: WaitOptions & OneSignal) => {
      const options = given ?? {};
      const { as = name, nth = 1 } = options;
      const next = (each: OneSignal): Promise<unknown> => this.#allWaits.waitFor(name, each);
      const leftAside = (why: string, at: number): Promise<void> => {
        this.log.warn(`ignoring a signal ${name} that does not match its schema: ${why}`);
        return this.#allWaits.unfit(name, `${as}#${at}`, why);
      };
      // A thread looks at each signal itself, and asks again when one does not fit.
      return this.#calls.begin({ kind: 'wait', name: nth === 1 ? as : `${as}#${nth}` }, () =>
        matchingSignal(next, options, leftAside),
      ) as Promise<never>;
    };
  }

  get waitForEvent(): WaitForEvent {
    return (name: string, event: string, given?: EventOptions & OneEvent) => {
      const options = given ?? {};
      const { nth = 1 } = options;
      const next = (each: OneEvent): Promise<unknown> =>
        this.#allWaits.waitForEvent(name, event, each);
      const leftAside = (why: string, at: number): Promise<void> => {
        this.log.warn(`ignoring an event ${event} that does not match its schema: ${why}`);
        return this.#allWaits.unfit(event, `event/${name}#${at}`, why);
      };
      return this.#calls.begin({ kind: 'event', name: nth === 1 ? name : `${name}#${nth}` }, () =>
        matchingSignal(next, options, leftAside),
      ) as Promise<never>;
    };
  }

  get call(): TaskContext['call'] {
    return (name, what, input) =>
      this.#calls.begin({ kind: 'call', name }, () => this.#allWaits.call(name, what, input));
  }

  get submit(): TaskContext['submit'] {
    return (name, what, input, options) =>
      this.#calls.begin({ kind: 'submit', name }, () =>
        this.#allSubmissions.submit(name, what, input, options),
      );
  }

  get send(): TaskContext['send'] {
    return (name, event, data, options) =>
      this.#calls.begin({ kind: 'send', name }, () =>
        this.#allSubmissions.send(name, event, data, options),
      );
  }

  get map(): TaskContext['map'] {
    return (name, what, items, options = {}) =>
      this.#calls.begin({ kind: 'map', name }, () => {
        this.#children ??= new Children(this.#owner, this.#suspending);
        return this.#children.map(name, what, items, options);
      });
  }

  get completeWith(): TaskContext['completeWith'] {
    return (transaction, result) =>
      this.#calls.begin({ kind: 'completeWith', name: null }, () => {
        const { assignment, signal } = this.#owner;
        this.#completion ??= new Completion(assignment, signal);
        return this.#completion.write(transaction, result);
      });
  }

  /** For an executor that runs the handler on a thread. */
  get attemptHooks(): AttemptHooks {
    const suspending = this.#suspending;
    return {
      hold() {
        const held = deferred();
        void suspending.during(() => held.promise);
        return () => held.resolve();
      },
      onSuspended: (fn) => suspending.onPutAside(fn),
      unfit: (name, step, why) => this.#allWaits.unfit(name, step, why),
      hasStep: (name) => this.#owner.assignment.steps.some((step) => step.name === name),
    };
  }

  /** For the attempt, not for handlers. */
  get completion(): Completion | null {
    return this.#completion;
  }

  /** For the attempt: whether the handler has asked for steps, waits or the like. */
  get isUsed(): boolean {
    return this.#calls.isUsed;
  }

  /** For the attempt: how the handler has misused its context; null if it has not. */
  get fault(): MisuseError | null {
    return this.#calls.fault;
  }

  /** The handler came to its end; resolves when its steps have, or when they are asked to stop. Null when it has none. */
  ended(how: 'returned' | 'thrown'): Promise<void> | null {
    return this.#calls.ended(how, () => this.signal);
  }

  /** The attempt has ended: it is not suspended for whatever the handler still waits for. */
  close(): void {
    this.#calls.close();
    this.#suspension?.close();
  }

  #traced<T>(name: string, fn: () => T | Promise<T>): T | Promise<T> {
    const { span } = this.#owner;
    const run = (): T | Promise<T> => this.#calls.within(name, fn);
    return span === null ? run() : span.step(name, run);
  }

  get #suspending(): Suspension {
    this.#suspension ??= new Suspension(this.#owner);
    return this.#suspension;
  }

  get #allSteps(): Steps {
    const { assignment, signal } = this.#owner;
    this.#steps ??= new Steps(assignment, signal, this.#suspending, (item, onVerdict) => {
      this.#owner.tell(item, onVerdict);
    });
    return this.#steps;
  }

  get #allSubmissions(): Submissions {
    this.#submissions ??= new Submissions(this.#owner, this.#allSteps, this.#suspending);
    return this.#submissions;
  }

  get #allWaits(): Waits {
    this.#waits ??= new Waits(this.#owner, this.#allSteps, this.#suspending);
    return this.#waits;
  }
}
