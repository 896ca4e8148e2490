/** Jobs that a handler submits and does not wait for. Each leaves a step, which answers later attempts. */
import type { JobId } from '../../scheduler/core/index.ts';
import { SUBMITTED_STEP, submittedJobId } from '../../scheduler/contract/index.ts';
import type { Callable, NewJobOptions } from '../../tasks/executors/index.ts';
import { type StartOwner, executorsIn, notCallable, startedDocument } from './started-document.ts';
import { checkName } from './steps.ts';
import type { Steps } from './steps.ts';
import type { Suspension } from './suspension.ts';

export interface SubmissionsOwner extends StartOwner {
  called(what: unknown, executors: readonly string[]): void;
}

export class Submissions {
  readonly #owner: SubmissionsOwner;
  readonly #steps: Steps;
  readonly #suspension: Suspension;

  constructor(owner: SubmissionsOwner, steps: Steps, suspension: Suspension) {
    this.#owner = owner;
    this.#steps = steps;
    this.#suspension = suspension;
  }

  async submit<I>(
    name: string,
    what: Callable<I, unknown>,
    input: I,
    options?: NewJobOptions,
  ): Promise<JobId> {
    checkName('submission', name);
    if (typeof what?.toDocument !== 'function') throw notCallable(`submission ${name}`);
    const { lease, run } = this.#owner.assignment;
    const jobId = submittedJobId(lease, run, name);
    const isDone = this.#steps.recorded(`${SUBMITTED_STEP}${name}`) !== undefined;
    // Like a step: the attempt is not suspended before the leader has the job.
    return this.#suspension.during(async () => {
      if (isDone) return jobId;
      const own = await what.toDocument(input);
      const { document } = startedDocument(`submission ${name}`, own, this.#owner, options);
      this.#owner.called(what, executorsIn(document));
      await this.#steps.report({ kind: 'submitted', lease, run, name, document });
      return jobId;
    });
  }
}
