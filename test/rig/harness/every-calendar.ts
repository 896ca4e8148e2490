import { instant } from '../../../src/scheduler/core/index.ts';
import type { Calendar } from '../../../src/scheduler/core/index.ts';

/** A calendar that knows one pattern, `every N ms`, which is enough to be a cron schedule. */
export const everyCalendar: Calendar = {
  next: (cron, _zone, after) => {
    const ms = Number(/^every (\d+) ms$/.exec(cron)?.[1]);
    return instant((Math.floor(after / ms) + 1) * ms);
  },
  check: () => null,
};
