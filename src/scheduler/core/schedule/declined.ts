/**
 * Schedules that their flows declare and that are not there. What is remembered of one is in a row of its own under the
 * id of the schedule, so that it survives the leader and goes with whatever takes its place.
 */
import type { ScheduleId } from '../ids.ts';
import type { ScheduleRow } from '../rows.ts';

export interface DeclinedSchedule {
  readonly flow: string;
  /** Somebody has deleted it as it was defined then: only another definition brings it back. Null if its flow itself has
   * removed it. */
  readonly definition: string | null;
  /** It was paused when its flow removed it: it comes back like that. */
  readonly paused: boolean;
}

const MARK = '{"declined":';

/** Whether the row stands for a schedule that is not there. No specification begins so. */
export function isDeclined({ spec }: Pick<ScheduleRow, 'spec'>): boolean {
  return spec.startsWith(MARK);
}

export function declinedRow(
  id: ScheduleId,
  { flow, definition, paused }: DeclinedSchedule,
): ScheduleRow {
  const spec = JSON.stringify({ declined: { flow, definition } });
  return { id, spec, paused, nextAt: null, lastAt: null, lastJobId: null };
}

/** The inverse of `declinedRow`. */
export function declinedIn({ spec, paused }: ScheduleRow): DeclinedSchedule {
  const { declined } = JSON.parse(spec) as {
    readonly declined: Pick<DeclinedSchedule, 'flow' | 'definition'>;
  };
  return { ...declined, paused };
}
