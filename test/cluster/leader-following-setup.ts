import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { LONG_TTLS, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

export const DOCUMENT = { tasks: [{ id: 'a', executor: 'note' }] };

export interface Pair {
  readonly fixture: TestCluster;
  readonly follower: ClusterNode;
  /** As a node that does not lead has to name it. */
  readonly leader: object;
}

export async function pair(): Promise<Pair> {
  const fixture = await startTestCluster({ leaders: 2, workers: 1, settings: LONG_TTLS });
  const { url, grpc } = fixture.cluster.node('n-1').plan;
  const leader = { nodeId: 'n-1', url, grpc, epoch: 1 };
  return { fixture, follower: fixture.cluster.node('n-2'), leader };
}
