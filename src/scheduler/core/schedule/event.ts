/** What can happen to schedules: a part of `SchedulerEvent`. */
import type { JobDocument } from '../document/document.ts';
import type { Ask, Instant, ScheduleId } from '../ids.ts';
import type { ScheduleSpec } from './schedule.ts';

export interface PutSchedule {
  readonly type: 'putSchedule';
  readonly ask: Ask;
  readonly scheduleId: ScheduleId;
  readonly spec: ScheduleSpec;
  readonly document: JobDocument;
  /** Only if this is what is stored of it now. */
  readonly expected?: string;
}

/** The schedules that the current version of a flow declares. Others that it has declared before are removed. */
export interface DeclareSchedules {
  readonly type: 'declareSchedules';
  readonly ask: Ask;
  readonly flow: string;
  readonly schedules: readonly DeclaredSchedule[];
  /** Declared, but not as they can be: they stay as they are. */
  readonly unusable: readonly ScheduleId[];
  /** New ones do not run until they are resumed. */
  readonly paused?: true;
  /** The flow itself is to be forgotten, and with it what is remembered of schedules that are not there. */
  readonly forgets?: true;
}

export interface DeclaredSchedule {
  readonly id: ScheduleId;
  readonly spec: ScheduleSpec;
  readonly document: JobDocument;
}

/** Runs a schedule for times that have passed. Those for which the store has a job already are left out. */
export interface BackfillSchedule {
  readonly type: 'backfillSchedule';
  readonly ask: Ask;
  readonly scheduleId: ScheduleId;
  readonly times: readonly Instant[];
}

export interface ChangeSchedule {
  readonly type: 'changeSchedule';
  readonly ask: Ask;
  readonly scheduleId: ScheduleId;
  readonly change: 'delete' | 'pause' | 'resume' | 'trigger';
}
