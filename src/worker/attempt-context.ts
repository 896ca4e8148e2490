/** What a handler sees of its attempt. Every part is made when it is asked for: most are not. */
import { MillraceError } from '../core/index.ts';
import type { JobId, LeaseName, ReportItem, TaskId } from '../core/index.ts';
import type { TaskContext, TaskLog } from '../executors/index.ts';
import { idempotencyKeyOf } from '../protocol/index.ts';
import type { ReadyAssignment } from '../protocol/index.ts';
import type { ItemVerdict } from './outbox.ts';
import { Steps } from './steps.ts';

/** The attempt as its context knows it. */
export interface ContextOwner {
  readonly assignment: ReadyAssignment;
  readonly lease: LeaseName;
  readonly signal: AbortSignal;
  readonly log: TaskLog;
  progress(fraction: number, note: string | null): void;
  tell(item: ReportItem, onVerdict: (verdict: ItemVerdict) => void): void;
}

export class AttemptContext implements TaskContext {
  readonly #owner: ContextOwner;
  #steps: Steps | null = null;

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

  get log(): TaskLog {
    return this.#owner.log;
  }

  // Functions, not methods: handlers take them out of the context by name.

  get progress(): TaskContext['progress'] {
    return (fraction, note) => this.#owner.progress(fraction, note ?? null);
  }

  get step(): TaskContext['step'] {
    const { assignment, signal } = this.#owner;
    this.#steps ??= new Steps(assignment, signal, (item, onVerdict) => {
      this.#owner.tell(item, onVerdict);
    });
    const steps = this.#steps;
    return (name, fn) => steps.run(name, fn);
  }

  get sleep(): TaskContext['sleep'] {
    return () => Promise.reject(notYet('ctx.sleep'));
  }
}

function notYet(what: string): MillraceError {
  return new MillraceError({ code: 'unimplemented', what: `${what} is not there yet.` });
}
