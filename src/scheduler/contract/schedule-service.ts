/** What clients ask of the leader about schedules. */
import type { ChangeSchedule, ScheduleId, ScheduleReply } from '../core/index.ts';

export type { ScheduleReply } from '../core/index.ts';

export interface ScheduleService {
  /** Creates the schedule, or gives an existing one a new timing and document. The value is unchecked. */
  put(scheduleId: ScheduleId, value: unknown): Promise<ScheduleReply>;
  change(scheduleId: ScheduleId, change: ChangeSchedule['change']): Promise<ScheduleReply>;
}
