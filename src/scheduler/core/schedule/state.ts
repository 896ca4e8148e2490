import type { JobDocument } from '../document/document.ts';
import type { Instant, JobId, ScheduleId } from '../ids.ts';
import type { ScheduleRow } from '../rows.ts';
import type { ScheduleSpec } from './schedule.ts';
import { encodeScheduleSpec } from './spec.ts';

/** A schedule in memory: its timing, the job it submits, and how far it has come. */
export interface Schedule {
  readonly id: ScheduleId;
  readonly spec: ScheduleSpec;
  readonly document: JobDocument;
  paused: boolean;
  nextAt: Instant | null;
  lastAt: Instant | null;
  lastJobId: JobId | null;
  /** Occurrences that were started, where that is limited. */
  runs: number;
  /** It is due, and its last job still runs. Not durable: each leader finds out by itself. */
  isWaiting: boolean;
  /** Counts the timers armed for it: only the latest one rings. */
  timerNo: number;
}

export function scheduleRow(schedule: Schedule): ScheduleRow {
  const { id, spec, paused, nextAt, lastAt, lastJobId, runs } = schedule;
  return { id, spec: encodeScheduleSpec(spec, runs), paused, nextAt, lastAt, lastJobId };
}
