import type { Cluster } from '../rig/cluster/cluster.ts';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import type { Inspector } from '../rig/cluster/relay.ts';
import { eventsOf } from '../rig/cluster/test-cluster.ts';

/** So long that no test could wait for it. */
export const LONG_TTL = { sessionTtlMs: 60_000, nodeDeadMs: 90_000 };

export const kindsOf = async (cluster: Cluster, job: string): Promise<string[]> =>
  (await eventsOf(cluster, job)).map(({ kind }) => kind);

export const MARK = 'the result of this report';

/** A way to the leader on which the answer to one report is lost: the one whose result holds the mark. */
export async function lossyWay(cluster: Cluster): Promise<Proxy> {
  const { grpc } = (await cluster.leading()).plan;
  let isOver = false;
  const inspect = (): Inspector => {
    let isLost = false;
    return {
      request: (chunk) => {
        if (isOver || !chunk.includes(MARK)) return;
        isLost = true;
        isOver = true;
      },
      answer: () => (isLost ? 'swallow' : 'forward'),
    };
  };
  return Proxy.start(targetOf(`tcp://${grpc}`), { inspect });
}
