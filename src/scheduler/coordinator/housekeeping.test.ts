import { expect, test } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

const settings = {
  jobRetentionMs: 60_000,
  eventRetentionMs: 60_000,
  keyRetentionMs: 60_000,
  pruneEveryMs: 10_000,
};

/** A store with one finished job and one that nobody runs. */
async function filled(
  store: Store,
  clock: VirtualClock,
  onPruneFailed: (why: MillraceError) => void = () => {},
): Promise<void> {
  const { leader } = await lead(store, clock, { settings, onPruneFailed });
  const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
  await leader.jobs.submit({ tasks: [{ id: 'a', executor: 'echo' }] }, { jobId: jobId('done') });
  await leader.jobs.submit({ tasks: [{ id: 'a', executor: 'none' }] }, { jobId: jobId('open') });
  const [assignment] = await worker.poll(1);
  await worker.complete(assignment!.lease);
}

async function pass(clock: VirtualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 2_000) await clock.advance(2_000);
}

test('finished jobs and old events are pruned after their retention, live jobs stay', async () => {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  await filled(store, clock);
  await pass(clock, 50_000);
  expect(await store.jobs(0, { limit: 10 })).toHaveLength(2);
  await pass(clock, 30_000);
  expect((await store.jobs(0, { limit: 10 })).map(({ id }) => id)).toEqual(['open']);
  await expect(store.events(0, 0, 10)).rejects.toMatchObject({ code: 'not_found' });
});

test('a prune that fails is reported, tried again later and does not end the term', async () => {
  const clock = new VirtualClock();
  const inner = memoryStore(clock);
  let failures = 2;
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'prune' || failures === 0) return value.bind(target) as unknown;
      return () => {
        failures -= 1;
        return Promise.reject(new MillraceError({ code: 'store_unavailable', what: 'away' }));
      };
    },
  });
  const reported: string[] = [];
  await filled(store, clock, ({ what }) => reported.push(what));
  await pass(clock, 90_000);
  expect(failures).toBe(0);
  expect(reported).toEqual(['away', 'away']);
  expect(await store.jobs(0, { limit: 10 })).toHaveLength(1);
});
