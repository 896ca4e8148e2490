/** Sleeping, waiting for a signal, calling a job. Each leaves a step, which answers later attempts. */
import {
  EVENT_WAIT,
  ID_LENGTH_MAX,
  MillraceError,
  UNFIT_STEP,
  isId,
  nthSignalStep,
  readEventMatch,
  readUserEvent,
  takenAtStep,
} from '../../scheduler/core/index.ts';
import type { AwaitedSignal, JobId, Json, TaskError } from '../../scheduler/core/index.ts';
import { ChildJobError, jsonText } from '../../tasks/executors/index.ts';
import type { Callable, OneEvent, OneSignal } from '../../tasks/executors/index.ts';
import { defined, durationMs } from '../../kit/index.ts';
import type { Duration } from '../../kit/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';
import type { AttemptSpan } from './attempt-span.ts';
import { executorsIn, notCallable, startedDocument } from './started-document.ts';
import { checkName } from './steps.ts';
import type { Steps } from './steps.ts';
import { FIRST_OF_ALL } from './suspension.ts';
import type { Suspension } from './suspension.ts';
import {
  childJobId,
  eventEndStep,
  eventStep,
  jobStep,
  signalStep,
  sleepStep,
  untilStep,
} from './wait-names.ts';

export interface WaitsOwner {
  readonly assignment: ReadyAssignment;
  readonly span: AttemptSpan | null;
  /** By the database's clock, or a little before it: nothing ends too early. */
  readonly nowMs: number;
  called(what: unknown, executors: readonly string[]): void;
}

/** Ten years, as for every duration. What is longer is a mistake in the unit. */
const WHY_LENGTH_MAX = 500;
const WAIT_MS_MAX = 3_650 * 24 * 3_600_000;

export class Waits {
  readonly #owner: WaitsOwner;
  readonly #steps: Steps;
  readonly #suspension: Suspension;

  constructor(owner: WaitsOwner, steps: Steps, suspension: Suspension) {
    this.#owner = owner;
    this.#steps = steps;
    this.#suspension = suspension;
  }

  async sleep(name: string, until: Duration | Date): Promise<void> {
    checkName('sleep', name);
    const step = sleepStep(name);
    const restMs = this.#restMs(step, this.#checkedMs(`The sleep ${name}`, until));
    const isNone = restMs === 0 && this.#steps.recorded(step) === undefined;
    if (isNone || this.#wasOver(step)) return this.#suspension.over(this.#timeIn(step), 'time');
    return this.#suspension.sleep(step, restMs);
  }

  /** The next one of that name, whatever it holds. */
  async waitFor(name: string, options: OneSignal): Promise<unknown> {
    if (typeof name !== 'string' || !isId(name)) throw badSignal(name);
    const { timeout, as = name, nth = 1, shape } = options;
    checkName('wait', as);
    const step = nthSignalStep(signalStep(as), nth);
    const what = `The timeout of the wait for ${name}`;
    return this.#next({ step, name, ...defined({ shape }) }, untilStep(as), what, timeout);
  }

  /** The next one of that name that has these values. */
  async waitForEvent(name: string, event: string, options: OneEvent): Promise<unknown> {
    checkName('wait for an event', name);
    const { timeout, match, nth = 1, shape } = options;
    const known = readUserEvent(event, '');
    const signal = {
      step: nthSignalStep(eventStep(name), nth),
      name: `${EVENT_WAIT}${known}`,
      match: readEventMatch(match, '/match'),
      ...defined({ shape }),
    };
    const what = `The timeout of the wait for the event ${known}`;
    return this.#next(signal, eventEndStep(name), what, timeout);
  }

  async #next(
    signal: AwaitedSignal,
    end: string,
    what: string,
    timeout: Duration | Date | undefined,
  ): Promise<unknown> {
    const { step } = signal;
    const forMs = timeout === undefined ? null : this.#checkedMs(what, timeout);
    const known = this.#steps.recorded(step);
    if (known !== undefined) {
      const { timeout: isInVain, value } = JSON.parse(known) as SignalBody;
      if (isInVain === true) await this.#suspension.over(this.#timeIn(end), 'time');
      else await this.#suspension.over(this.#timeIn(takenAtStep(step)), 'event');
      return value;
    }
    if (forMs === null) return this.#suspension.signal(signal);
    if (this.#wasOver(end)) {
      // Written down before it is believed: a signal that comes now must not change what was seen.
      const keep = (): Promise<void> => this.#steps.keep(step, { timeout: true });
      await this.#suspension.over(this.#timeIn(end), 'time', keep);
      return undefined;
    }
    void this.#suspension.sleep(end, this.#restMs(end, forMs)).catch(() => {});
    return this.#suspension.signal(signal);
  }

  /** A signal was ignored: its sender should be able to see that. Logged once per run. */
  async unfit(name: string, step: string, why: string): Promise<void> {
    const left = `${UNFIT_STEP}${step}`;
    if (this.#steps.recorded(left) !== undefined) return;
    await this.#steps.keep(left, { name, why: why.slice(0, WHY_LENGTH_MAX) });
  }

  async call<I, O>(name: string, what: Callable<I, O>, input: I): Promise<O> {
    checkName('call', name);
    if (typeof what?.toDocument !== 'function') throw notCallable(`call ${name}`);
    const step = jobStep(name);
    const known = this.#steps.recorded(step);
    if (known !== undefined) {
      const { jobId, state, result, error } = JSON.parse(known) as EndedJob;
      await this.#suspension.over(this.#timeIn(step), 'event');
      if (state !== 'succeeded') throw new ChildJobError(jobId, what.name, state, error ?? null);
      return this.#suspension.during(() => what.readResult(result ?? null, jobId));
    }
    const jobId = childJobId(this.#owner.assignment, name);
    if (!isId(jobId)) throw tooDeep(name, jobId);
    const own = await this.#suspension.during(() => what.toDocument(input));
    const { document, length } = startedDocument(`call ${name}`, own, this.#owner);
    this.#owner.called(what, executorsIn(document));
    return this.#suspension.job({ step, jobId, document }, length);
  }

  /** From now on, by the database's clock: a time that has passed is over at once. */
  #checkedMs(what: string, until: Duration | Date): number {
    const ms = lengthOf(until, this.#owner.nowMs);
    if (ms !== null && ms <= WAIT_MS_MAX) return ms;
    throw new MillraceError({
      code: 'bad_input',
      what: `${what} cannot last ${ms === null ? shown(until) : `${ms} ms`}.`,
      todo: 'Use milliseconds, text such as 90s, 2h30m or 3d, or a Date, up to ten years.',
    });
  }

  /** When that was over which left the step. */
  #timeIn(step: string): number {
    const known = this.#steps.recorded(step);
    if (known === undefined) return FIRST_OF_ALL;
    const { until, at } = JSON.parse(known) as { readonly until?: number; readonly at?: number };
    return until ?? at ?? FIRST_OF_ALL;
  }

  /**
   * Whether the time was over when the attempt began. What ends later is left to the next attempt: this one
   * does not see the jobs that end meanwhile, so a race between the two could go otherwise there.
   */
  #wasOver(step: string): boolean {
    return (
      this.#timeIn(step) <= this.#owner.assignment.assignedAt &&
      this.#steps.recorded(step) !== undefined
    );
  }

  /** Of a sleep that has begun its end is known; of another it is all of it. */
  #restMs(step: string, fullMs: number): number {
    const known = this.#steps.recorded(step);
    if (known === undefined) return fullMs;
    const { until } = JSON.parse(known) as { readonly until: number };
    return Math.max(0, Math.ceil(until - this.#owner.nowMs));
  }
}

interface SignalBody {
  readonly value?: Json;
  readonly timeout?: true;
}

interface EndedJob {
  readonly jobId: JobId;
  readonly state: string;
  readonly result?: Json;
  readonly error?: TaskError | null;
}

/** Null if it is not valid: handlers are not always typed. */
function lengthOf(until: unknown, nowMs: number): number | null {
  if (typeof until === 'number' || typeof until === 'string') return durationMs(until);
  if (!(until instanceof Date) || Number.isNaN(until.getTime())) return null;
  return Math.max(0, Math.ceil(until.getTime() - nowMs));
}

function shown(value: unknown): string {
  const isPlain = value === undefined || typeof value === 'number' || value instanceof Date;
  if (isPlain) return String(value);
  const text = jsonText(value);
  return text.isJson ? text.text : typeof value;
}

function badSignal(name: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `${shown(name)} is not a valid signal name.`,
    todo: `Use 1 to ${ID_LENGTH_MAX} letters, digits and . _ : @ + = - that start with a letter, a digit or _.`,
  });
}

function tooDeep(name: string, jobId: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The call ${name} would create a job with an id of ${jobId.length} characters; the limit is ${ID_LENGTH_MAX}.`,
    why: 'The id grows with every level of calls.',
    todo: 'Nest fewer calls, or submit the outermost job under a shorter id.',
  });
}
