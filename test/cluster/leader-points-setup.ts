import { expect } from 'vitest';
import { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import { LONG_SESSIONS, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

export interface Trapped {
  readonly fixture: TestCluster;
  /** What the next commit of the leader comes to; the leader does not hear of it, and is killed. */
  readonly killAfterCommit: () => Promise<void>;
}

export async function trapped(): Promise<Trapped> {
  const lossy: LossyDatabase[] = [];
  const route = async (url: string): Promise<string> => {
    lossy.push(await LossyDatabase.start(url));
    return lossy[0]?.url ?? url;
  };
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 1,
    settings: LONG_SESSIONS,
    route,
  });
  const killAfterCommit = async (): Promise<void> => {
    expect(await lossy[0]?.loseAnswer()).toBe('done');
    await fixture.cluster.node('n-1').process.crash();
  };
  return { fixture, killAfterCommit };
}
