import type { Schedule } from '../schedule/state.ts';
import type { Turn } from '../turn.ts';

/** Each new timer takes the place of the one before: a schedule that is put often leaves no trail. */
export function armSchedule(turn: Turn, schedule: Schedule): void {
  const { id: scheduleId, nextAt: at, paused } = schedule;
  if (at === null || paused) return;
  schedule.timerNo += 1;
  turn.state.timers.arm({ type: 'schedule', at, scheduleId, timerNo: schedule.timerNo });
}
