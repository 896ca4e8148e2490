import { randomUUID } from 'node:crypto';
import { checkedSettings, type Settings, type TermId } from '../../../src/scheduler/core/index.ts';
import {
  cronCalendar,
  LeaderElection,
  type LeaderElectionOptions,
} from '../../../src/scheduler/coordinator/index.ts';
import { systemClock } from '../../../src/kit/index.ts';
import type { Store } from '../../../src/scheduler/store/index.ts';

/** A candidate with real time and the usual settings: a leader's time is up after ten seconds. */
export function candidateOn(
  store: Store,
  nodeId: string,
  on: Pick<LeaderElectionOptions, 'onLead' | 'onFollow'>,
  settings: Partial<Settings> = {},
): LeaderElection {
  const election = new LeaderElection({
    store,
    clock: systemClock,
    settings: checkedSettings(settings),
    calendar: cronCalendar,
    shard: 0,
    nodeId,
    url: null,
    grpc: null,
    newTermId: () => randomUUID() as TermId,
    random: Math.random,
    ...on,
  });
  election.start();
  return election;
}
