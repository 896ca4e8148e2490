/** Jobs that a handler submits and does not wait for, and events that it sends. Each leaves a step, which answers later attempts. */
import { MillraceError, readSentEvent } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import { SUBMITTED_STEP, submittedJobId } from '../../scheduler/contract/index.ts';
import { jsonText } from '../../tasks/executors/index.ts';
import type { Callable, EventSend, NewJobOptions } from '../../tasks/executors/index.ts';
import { type StartOwner, executorsIn, notCallable, startedDocument } from './started-document.ts';
import { checkName } from './steps.ts';
import type { Steps } from './steps.ts';
import type { Suspension } from './suspension.ts';

/** In front of the name of an event that is sent: no submission can have such a name. */
const SENT_NAME = '$send/';

function notJson(name: string, fault: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what: `The data of the event ${name} ${fault}.` });
}

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
    return this.#report(name, async () => {
      const own = await what.toDocument(input);
      const { document } = startedDocument(`submission ${name}`, own, this.#owner, options);
      this.#owner.called(what, executorsIn(document));
      return document;
    });
  }

  /** Answers the id of the event. What is wrong with it is said here, where it is sent. */
  async send(name: string, event: string, data: unknown, options?: EventSend): Promise<string> {
    checkName('sent event', name);
    const { labels } = options ?? {};
    return this.#report(`${SENT_NAME}${name}`, async () => {
      const text = jsonText({ data: data ?? null, ...(labels && { labels }) });
      if (!text.isJson) throw notJson(name, text.fault);
      const body = JSON.parse(text.text) as object;
      readSentEvent(event, body);
      return { event, ...body };
    });
  }

  #report(name: string, make: () => Promise<unknown>): Promise<JobId> {
    const { lease, run } = this.#owner.assignment;
    const id = submittedJobId(lease, run, name);
    const isDone = this.#steps.recorded(`${SUBMITTED_STEP}${name}`) !== undefined;
    // Like a step: the attempt is not suspended before the leader has it.
    return this.#suspension.during(async () => {
      if (isDone) return id;
      const document = await make();
      await this.#steps.report({ kind: 'submitted', lease, run, name, document });
      return id;
    });
  }
}
