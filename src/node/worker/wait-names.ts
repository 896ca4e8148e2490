/** The names of the steps that waits leave, and of the jobs that a task calls. */
import { createHash } from 'node:crypto';
import { EVENT_END_STEP, EVENT_STEP } from '../../scheduler/core/index.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

/** Kept under `{"until": MS}` from its beginning. */
export const sleepStep = (name: string): string => `$sleep/${name}`;
/** The end of a wait for a signal; kept like a sleep. */
export const untilStep = (name: string): string => `$until/${name}`;
/** `{"value": ...}`, or `{"timeout": true}` when the time was over first. When it was taken is in a step
 * beside it: see `takenAtStep`. */
export const signalStep = (name: string): string => `$signal/${name}`;
/** As those of a signal. */
export const eventStep = (name: string): string => `${EVENT_STEP}${name}`;
export const eventEndStep = (name: string): string => `${EVENT_END_STEP}${name}`;
/** `{"jobId", "state", "at", "result", "error"}`. */
export const jobStep = (name: string): string => `$job/${name}`;

/** Enough that two calls of one job never meet, short enough for flows that call flows. */
const DIGITS = 12;

/** The same for every attempt of the run, so that a repeated one finds the job instead of a second. */
export function childJobId(
  { jobId, taskId, run }: Pick<ReadyAssignment, 'jobId' | 'taskId' | 'run'>,
  name: string,
): JobId {
  return `${jobId}.${digest([taskId, run, name]).slice(0, DIGITS)}` as JobId;
}

/** Of a shared limit; a name like any other, so it may not be too long. */
const KEY_LENGTH_MAX = 200;

export function mapKey({ jobId, taskId }: ReadyAssignment, name: string): string {
  const key = `${jobId}.${taskId}.${name}`;
  return key.length <= KEY_LENGTH_MAX ? key : `map.${digest([jobId, taskId, name])}`;
}

function digest(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
