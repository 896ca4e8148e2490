/** What a test gives a runtime, and what it gets of a job. */
import type { Settings } from '../scheduler/core/index.ts';
import type { FlowDefinition, TaskDefinition, TaskLog } from '../tasks/executors/index.ts';
import type { JobShape } from '../scheduler/contract/index.ts';
import type { ResultOfJob, SubmitArguments, Submittable } from '../client/index.ts';
import type { Fakes } from './fakes.ts';

export interface TestRuntimeOptions {
  readonly flows?: readonly FlowDefinition[];
  readonly tasks?: readonly TaskDefinition[];
  /** Tasks that run at the same time; 8 if not given. */
  readonly slots?: number;
  /** When virtual time begins; 2030-01-01T00:00:00Z if not given. */
  readonly startAt?: Date | string | number;
  /** How long, in real time, a handler that does real work is waited for before time passes under it. */
  readonly realTimeoutMs?: number;
  /** Functions that run instead of tasks: `[fake(charge, () => ({ receipt: 'r-1' }))]`, or by the names of tasks and
   * executors, `{ http: () => ({ ... }) }`. */
  readonly fakes?: Fakes;
  /** Settings of the scheduler, such as `maxAttempts`. */
  readonly settings?: Partial<Settings>;
  /** Where `ctx.log` goes; nowhere if not given. */
  readonly log?: TaskLog;
}

/** One job under test. */
export interface TestJob<O> {
  readonly id: string;
  readonly isNew: boolean;
  /** As `runtime.result(job)`. */
  result(): Promise<O>;
  job(): Promise<JobShape>;
  signal(name: string, value?: unknown): Promise<void>;
  cancel(reason?: string): Promise<void>;
}

export type TestSubmit = <What extends Submittable>(
  what: What,
  ...rest: SubmitArguments<What>
) => Promise<TestJob<ResultOfJob<What>>>;
