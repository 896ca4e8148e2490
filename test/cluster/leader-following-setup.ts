import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { PATIENT, stage } from './stage.ts';
import type { Stage } from './stage.ts';

export const DOCUMENT = { tasks: [{ id: 'a', executor: 'note' }] };

export interface Pair {
  readonly play: Stage;
  readonly follower: ClusterNode;
  /** As a node that does not lead has to name it. */
  readonly leader: object;
}

export async function pair(): Promise<Pair> {
  const play = await stage({ leaders: 2, workers: 1, settings: PATIENT });
  const { url, grpc } = play.cluster.node('n-1').plan;
  const leader = { nodeId: 'n-1', url, grpc, epoch: 1 };
  return { play, follower: play.cluster.node('n-2'), leader };
}
