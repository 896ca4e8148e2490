/** A leader on a store in memory, without competitors. */
import { instant } from '../scheduler/core/index.ts';
import type { Instant, JobId, Settings, TermId } from '../scheduler/core/index.ts';
import { Leader, cronCalendar } from '../scheduler/coordinator/index.ts';
import type { VirtualClock } from '../kit/index.ts';
import type { JobShape, ScheduleShape } from '../scheduler/contract/index.ts';
import { openMemoryStore } from '../scheduler/store/index.ts';
import type { Store } from '../scheduler/store/index.ts';
import { EventFeed, StoreReader } from '../edge/read/index.ts';

export interface LedStore {
  readonly store: Store;
  readonly leader: Leader;
  readonly job: (id: JobId) => Promise<JobShape | null>;
  readonly schedules: () => Promise<readonly ScheduleShape[]>;
  /** Jobs that schedules have started. */
  readonly fired: () => number;
  readonly now: () => Instant;
}

const NODE_ID = 'leader';

export async function leadInMemory(options: {
  readonly clock: VirtualClock;
  readonly settings: Settings;
  readonly startAtMs: number;
  readonly onCommitted: () => void;
}): Promise<LedStore> {
  const { clock, settings, startAtMs, onCommitted } = options;
  const now = (): Instant => instant(startAtMs + Math.floor(clock.monotonicMs()));
  const store = openMemoryStore({ now });
  const campaign = await store.campaign({
    shard: 0,
    nodeId: NODE_ID,
    url: null,
    grpc: null,
    term: 'term-1' as TermId,
    ttlMs: settings.leaderTtlMs,
  });
  if (!campaign.won) throw new Error('A fresh store has no other leader.');
  let fired = 0;
  const leader = await Leader.start({
    store,
    clock,
    settings,
    calendar: cronCalendar,
    // Otherwise time could not pass for one job without all of theirs.
    pausesDeclaredSchedules: true,
    elected: { ...campaign, nodeId: NODE_ID, askedAtMs: clock.monotonicMs() },
    onCommitted: ({ events }) => {
      fired += events.filter(({ kind }) => kind === 'schedule.fired').length;
      onCommitted();
    },
    // It ends when the runtime is closed, or by a fault that the next call reports.
    onEnd: () => {},
  });
  await leader.loaded;
  const reader = new StoreReader({
    store,
    feed: new EventFeed({ store, clock }),
    explain: (job, tasks) => leader.jobs.explainAll(job, tasks),
  });
  const job = async (id: JobId): Promise<JobShape | null> => {
    const { value } = await reader.job(id);
    return inJson(value) as JobShape | null;
  };
  const schedules = async (): Promise<readonly ScheduleShape[]> =>
    inJson((await reader.schedules()).value) as readonly ScheduleShape[];
  return { store, leader, now, job, schedules, fired: () => fired };
}

/** As a client gets it: results are values and times are text. */
function inJson(shape: object | null): unknown {
  return JSON.parse(JSON.stringify(shape));
}
