import type { EventMatch } from '../document/event-match.ts';
import type { Instant, JobId } from '../ids.ts';
import type { SignalShape } from './signal-shape.ts';

/**
 * What a task waits for besides a time. The jobs are all those that it has called and that have
 * not ended: they stay here while it runs again, because they end with it.
 */
export interface AwaitedThings {
  readonly signals: readonly AwaitedSignal[];
  readonly jobs: readonly AwaitedJob[];
  /** Events that the task has waited for and still does while it runs: what comes meanwhile is not lost. */
  readonly events?: readonly AwaitedSignal[];
}

export function isEmptyWait({ signals, jobs, events }: AwaitedThings): boolean {
  return signals.length + jobs.length + (events?.length ?? 0) === 0;
}

/** The next signal of this name becomes the step. */
export interface AwaitedSignal {
  readonly step: string;
  readonly name: string;
  /** What it must be like, if that is known. */
  readonly shape?: SignalShape;
  /** Of a wait for an event: what its data must have. */
  readonly match?: EventMatch;
  /** Of a wait for an event with a timeout: from then on it is over. */
  readonly until?: Instant;
  /** Of an event that came while the task was not asleep: its step is there. */
  readonly isTaken?: true;
}

/** A wait for an event is one for a signal of this name, which no user can send: a name has no slash. */
export const EVENT_WAIT = 'event/';

/** Null for the name of a signal. */
export function awaitedEvent(name: string): string | null {
  return name.startsWith(EVENT_WAIT) ? name.slice(EVENT_WAIT.length) : null;
}

/** The steps of a wait for an event: its data, `{"value": ...}`, and its end, `{"until": MS}`. */
export const EVENT_STEP = '$event/';
export const EVENT_END_STEP = '$eventEnd/';

/** The end of this job becomes the step. */
export interface AwaitedJob {
  readonly step: string;
  readonly jobId: JobId;
}

/** The step beside that of a taken signal: `{"at": MS}`. The body of the signal is what its sender gave. */
export function takenAtStep(step: string): string {
  return `$at/${step.replace(/^\$/, '')}`;
}

/** The step of a wait that goes on after signals that did not fit its schema: `$signal/go#3` has met two. */
export function nthSignalStep(step: string, nth: number): string {
  return nth === 1 ? step : `${step}#${nth}`;
}

export function unfitBefore(step: string): number {
  const nth = Number(/#(\d{1,9})$/.exec(step)?.[1] ?? 1);
  return Math.max(0, nth - 1);
}

/** What a worker leaves of a signal that did not fit: `{"name", "why"}`. */
export const UNFIT_STEP = '$unfit/';

/** Where in a trace an assignment was that ended with a wait, by its fence: `{"parent", "state"}`. */
export const TRACE_STEP = '$trace/';

/** Instead of the name of a signal: any. No signal can have this name. */
export const ANY_SIGNAL = '*';

/**
 * How stores find the tasks that wait for a signal: by the beginning of the text of their waits, and by a part of it for
 * a signal of this name. Names need no escapes, and a shape has no text as the value of a field.
 */
export const SIGNAL_WAIT_START = '{"signals":[{';

export function signalWaitPart(name: string): string {
  return name === ANY_SIGNAL ? SIGNAL_WAIT_START : `"name":"${name}"`;
}

/** Whether a task with these waits in its row waits for the signal, or for any. */
export function awaitsSignal(waits: string | null, name: string): boolean {
  return (
    waits !== null && waits.startsWith(SIGNAL_WAIT_START) && waits.includes(signalWaitPart(name))
  );
}

/** The names of the signals that tasks with these waits wait for, sorted. */
export function awaitedSignals(waits: readonly string[]): readonly string[] {
  const names = waits.flatMap((text) => decodeWaits(text)?.signals.map(({ name }) => name) ?? []);
  return [...new Set(names)].toSorted();
}

/** How it is encoded in a task's row and decoded. */
export function encodeWaits(waits: AwaitedThings | null): string | null {
  return waits === null ? null : JSON.stringify(waits);
}

export function decodeWaits(text: string | null): AwaitedThings | null {
  return text === null ? null : (JSON.parse(text) as AwaitedThings);
}
