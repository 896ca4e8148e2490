/** What a handler sees of its attempt. Every part is made when it is asked for: most are not. */
import type { JobId, LeaseName, TaskId } from '../core/index.ts';
import { fittingSignal } from '../executors/index.ts';
import type {
  Lifeline,
  TaskContext,
  TaskLog,
  WaitFor,
  WaitOptions,
  WithLifeline,
  OneSignal,
} from '../executors/index.ts';
import { deferred } from '../kit/index.ts';
import { idempotencyKeyOf } from '../protocol/index.ts';
import type { ReadyAssignment, WorkerReport } from '../protocol/index.ts';
import { Children } from './children.ts';
import { Completion } from './completion.ts';
import type { ItemVerdict } from './outbox.ts';
import { Steps } from './steps.ts';
import { Suspension } from './suspension.ts';
import type { SuspensionOwner } from './suspension.ts';
import { Waits } from './waits.ts';

/** The attempt as its context knows it. */
export interface ContextOwner extends SuspensionOwner {
  readonly assignment: ReadyAssignment;
  readonly lease: LeaseName;
  /** By the database's clock, or a little before it. */
  readonly nowMs: number;
  readonly log: TaskLog;
  progress(fraction: number, note: string | null): void;
  tell(item: WorkerReport, onVerdict: (verdict: ItemVerdict) => void): void;
}

export class AttemptContext implements TaskContext, WithLifeline {
  readonly #owner: ContextOwner;
  #suspension: Suspension | null = null;
  #steps: Steps | null = null;
  #waits: Waits | null = null;
  #children: Children | null = null;
  #completion: Completion | null = null;

  constructor(owner: ContextOwner) {
    this.#owner = owner;
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

  get log(): TaskLog {
    return this.#owner.log;
  }

  // Functions, not methods: handlers take them out of the context by name.

  get progress(): TaskContext['progress'] {
    return (fraction, note) => this.#owner.progress(fraction, note ?? null);
  }

  get step(): TaskContext['step'] {
    return (name, fn) => leftAlone(this.#allSteps.run(name, fn));
  }

  get sleep(): TaskContext['sleep'] {
    return (name, duration) => leftAlone(this.#allWaits.sleep(name, duration));
  }

  get waitFor(): WaitFor {
    return (name: string, options?: WaitOptions) => {
      const next = (each: OneSignal): Promise<unknown> => this.#allWaits.waitFor(name, each);
      const leftAside = (why: string): void =>
        this.log.warn(`a signal ${name} does not fit and is left aside: ${why}`);
      return leftAlone(fittingSignal(next, options ?? {}, leftAside)) as Promise<never>;
    };
  }

  get call(): TaskContext['call'] {
    return (name, what, input) => leftAlone(this.#allWaits.call(name, what, input));
  }

  get map(): TaskContext['map'] {
    return (name, what, items, options = {}) => {
      this.#children ??= new Children(this.#owner.assignment, this.#suspending);
      return leftAlone(this.#children.map(name, what, items, options));
    };
  }

  get completeWith(): TaskContext['completeWith'] {
    return (transaction, result) => {
      const { assignment, signal } = this.#owner;
      this.#completion ??= new Completion(assignment, signal);
      return this.#completion.write(transaction, result);
    };
  }

  /** For an executor that runs the handler on a thread. */
  get lifeline(): Lifeline {
    const suspending = this.#suspending;
    return {
      hold() {
        const held = deferred();
        void suspending.during(() => held.promise);
        return () => held.resolve();
      },
      onSuspended: (fn) => suspending.onPutAside(fn),
    };
  }

  /** For the attempt, not for handlers. */
  get completion(): Completion | null {
    return this.#completion;
  }

  /** The attempt has ended: whatever the handler still waits for, it is not put aside for it. */
  close(): void {
    this.#suspension?.close();
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

  get #allWaits(): Waits {
    this.#waits ??= new Waits(this.#owner, this.#allSteps, this.#suspending);
    return this.#waits;
  }
}

/**
 * A wait that lost a race is awaited by nobody, and a step that fails beside another one is awaited too late:
 * neither may end the process, and with it the tasks of others.
 */
function leftAlone<T>(wait: Promise<T>): Promise<T> {
  wait.catch(() => {});
  return wait;
}
