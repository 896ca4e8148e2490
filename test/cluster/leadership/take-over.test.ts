/** Leaders in processes of their own, killed and stopped, on a real server. */
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { deferred, systemClock } from '../../../src/kit/index.ts';
import type { Leader } from '../../../src/scheduler/coordinator/index.ts';
import type { PostgresStore } from '../../../src/scheduler/store/index.ts';
import { TestProcess } from '../../rig/cluster/process.ts';
import { openTestStore } from '../../rig/millrace-database.ts';
import { candidateOn } from './candidate.ts';

const SCRIPT = fileURLToPath(new URL('leader-process.ts', import.meta.url));

async function leadingProcess(url: string): Promise<TestProcess> {
  const doomed = TestProcess.start(['tsx', SCRIPT, url], { script: '--import' });
  await doomed.line(/^leads 1$/);
  return doomed;
}

interface Follower {
  /** Settles when it leads, with the time at which it began to. */
  readonly leads: Promise<{ readonly leader: Leader; readonly atMs: number }>;
}

/** A candidate here that has seen who leads. */
async function follower(store: PostgresStore): Promise<Follower> {
  const [followed, led] = [deferred(), deferred<{ leader: Leader; atMs: number }>()];
  const election = candidateOn(store, 'heir', {
    onFollow: (info) => info !== null && followed.resolve(),
    onLead: (leader) => led.resolve({ leader, atMs: systemClock.monotonicMs() }),
  });
  onTestFinished(() => election.stop());
  await followed.promise;
  return { leads: led.promise };
}

test('a killed leader is replaced long before its time is up', async () => {
  const { store, url } = await openTestStore();
  const doomed = await leadingProcess(url);
  const { leads } = await follower(store);
  const killedAtMs = systemClock.monotonicMs();
  doomed.kill('SIGKILL');
  const { leader, atMs } = await leads;
  expect(leader.term.epoch).toBe(2);
  // Renewed every 3 s, it had at least some 7 s of its 10 s left.
  expect(atMs - killedAtMs).toBeLessThan(5_000);
  // The worker of its node went with it.
  await leader.loaded;
  await leader.jobs.drainInbox();
  const nodes = await store.nodes(0);
  expect(nodes.map(({ id, status }) => [id, status])).toEqual([['doomed', 'stale']]);
});
