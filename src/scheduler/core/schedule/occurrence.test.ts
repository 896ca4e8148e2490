import { describe, expect, test } from 'vitest';
import { instant, jobNo } from '../ids.ts';
import type { JobId, ScheduleId } from '../ids.ts';
import { occurrenceJobId, scheduledTime } from './occurrence.ts';

const job = (id: string, schedule: string | null): Parameters<typeof scheduledTime>[0] => ({
  id: id as JobId,
  scheduleId: schedule as ScheduleId | null,
});

describe('the job of a firing', () => {
  test.each(['nightly', 'a.5.7', '17', 'x.', 'Zürich'])('%s tells its time', (schedule) => {
    const at = instant(1_794_704_400_000);
    const id = occurrenceJobId(schedule as ScheduleId, at, jobNo(12));
    expect(scheduledTime(job(id, schedule))).toBe(at);
  });

  test.each([
    ['that no schedule started', 's.5.7', null],
    ['of another schedule', 's.5.7', 't'],
    ['without a time', 's.x.7', 's'],
    ['with more than that', 's.5.7.9', 's'],
  ])('a job %s has none', (_, id, schedule) => {
    expect(scheduledTime(job(id, schedule))).toBeNull();
  });
});
