import type { Schedule } from '../schedule/state.ts';
import type { StepContext } from '../step-context.ts';

/** Each new timer takes the place of the one before: a schedule that is put often leaves no trail. */
export function armSchedule(context: StepContext, schedule: Schedule): void {
  const { id: scheduleId, nextAt: at, paused } = schedule;
  if (at === null || paused) return;
  schedule.timerNo += 1;
  context.state.timers.arm({ type: 'schedule', at, scheduleId, timerNo: schedule.timerNo });
}
