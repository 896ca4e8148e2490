import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

export interface Busy extends TestCluster {
  readonly worker: ClusterNode;
  /** Its task ends when this file is there. */
  readonly file: string;
  readonly running: string;
  /** Given to the same worker, which has not started it. */
  readonly held: string;
}

/** One worker that runs a task and holds another one; a second worker has come since. */
export async function busyWorker(...args: string[]): Promise<Busy> {
  const fixture = await startTestCluster({ workers: 0, settings: { sessionTtlMs: 2_500 } });
  const { cluster } = fixture;
  const worker = await cluster.startWorker({ slots: 1, args: ['--prefetch', '1', ...args] });
  const file = cluster.file('go');
  const running = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: running.id, what: 'begin' });
  const held = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
  await cluster.client.waitForEvent(({ event }) => event === 'assigned', { job: held.id });
  await cluster.startWorker({ slots: 1 });
  return { ...fixture, worker, file, running: running.id, held: held.id };
}

export const DONE = { code: 0, signal: null };
