/** What clients ask of the leader about schedules. */
import type { BackfilledJob, ChangeSchedule, ScheduleId, ScheduleReply } from '../core/index.ts';

export type { BackfilledJob, ScheduleReply } from '../core/index.ts';

export interface ScheduleService {
  /** Creates the schedule, or gives an existing one a new timing and document. The value is unchecked. */
  put(scheduleId: ScheduleId, value: unknown): Promise<ScheduleReply>;
  change(scheduleId: ScheduleId, change: ChangeSchedule['change']): Promise<ScheduleReply>;
  /** Runs it for `{at}`, or for its times in `{from, to}`, once each however often it is asked. The range is unchecked. */
  backfill(scheduleId: ScheduleId, range: unknown): Promise<readonly BackfilledJob[]>;
}
