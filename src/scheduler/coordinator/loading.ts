/**
 * From the store into memory. A new leader serves as soon as the nodes and the jobs with running
 * tasks are there; the other live jobs stream in behind, urgent ones first.
 */
import {
  Effects,
  PRIORITIES,
  SchedulerState,
  jobNo,
  restoreCluster,
  restoreDone,
  restoreJob,
} from '../core/index.ts';
import type { JobNo, SchedulerOptions } from '../core/index.ts';
import type { Clock } from '../../kit/index.ts';
import { rewound } from '../store/index.ts';
import type { Store } from '../store/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Memory } from './dispatcher-options.ts';
import type { LeaderTerm } from './leader-term.ts';

/** Jobs a portion: small enough to leave room for live events between two of them. */
const PORTION = 500;

export interface LoadOptions {
  readonly store: Store;
  readonly leaderTerm: LeaderTerm;
  readonly scheduler: Omit<SchedulerOptions, 'term'>;
}

/** Runs `act` and keeps the term alive meanwhile: a load that takes longer than the TTL would
 * otherwise depose one leader after the other. */
export async function renewing<T>(
  { leaderTerm, scheduler }: LoadOptions,
  clock: Clock,
  act: () => Promise<T>,
): Promise<T> {
  let cancel = (): void => {};
  let isDone = false;
  const renewLater = (): void => {
    if (isDone) return;
    cancel = clock.after(scheduler.settings.leaderRenewMs, () => {
      // A failure shows at the first commit; until then it cannot be reported.
      leaderTerm.renew().then(renewLater, () => {});
    });
  };
  renewLater();
  try {
    return await act();
  } finally {
    isDone = true;
    cancel();
  }
}

/** What must be in memory before the first answer. */
export async function loadFirst(options: LoadOptions): Promise<Memory> {
  const { store, leaderTerm, scheduler } = options;
  const { shard } = leaderTerm.term;
  const cluster = await store.loadCluster(shard);
  const { acknowledged, term } = leaderTerm;
  // In the middle of a term: what it had acknowledged must be there still.
  if (acknowledged !== null && cluster.commitNo < acknowledged.commitNo) {
    throw rewound(term, acknowledged.commitNo, cluster.commitNo);
  }
  leaderTerm.acknowledged ??= cluster;
  leaderTerm.began ??= cluster;
  const busy = await store.loadBusyJobs(shard);
  const state = new SchedulerState({ ...scheduler, term: leaderTerm.term.id });
  const now = leaderTerm.time.now();
  const effects = new Effects();
  restoreCluster(state, cluster, now, effects);
  for (const image of busy) restoreJob(state, image, now, effects);
  return { state, effects };
}

/** Loads the rest through the dispatcher, which already serves. If the state is dropped meanwhile, the reload also
 * loads the rest, and `isCurrent` returns false. */
export async function loadRest(
  { store, leaderTerm }: LoadOptions,
  dispatcher: Dispatcher,
  isCurrent: () => boolean,
): Promise<void> {
  const { shard } = leaderTerm.term;
  for (const priority of PRIORITIES) {
    let from: JobNo | null = jobNo(0);
    while (from !== null && isCurrent()) {
      const start: JobNo = from;
      let next: JobNo | null = null;
      await dispatcher.load(async () => {
        const portion = await store.loadJobs(shard, priority, start, PORTION);
        next = portion.next;
        return portion.jobs;
      });
      from = next;
    }
  }
  await dispatcher.read((state, now) => {
    if (isCurrent()) restoreDone(state, now);
  });
}
