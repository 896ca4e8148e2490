/** An observer of a cluster whose database goes back to an earlier state. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { deferred } from '../../../kit/index.ts';
import type { AsOf, EventPage, Reader } from '../../../scheduler/contract/index.ts';
import type { MemoryStore } from '../../../scheduler/store/index.ts';
import { jobId, lead, memoryStore } from '../../../../test/rig/lead.ts';
import type { Led } from '../../../../test/rig/lead.ts';
import { VirtualClock } from '../../../../test/rig/virtual-clock.ts';
import { EventFeed, StoreReader } from '../index.ts';
import { Replica } from './replica.ts';

let clock: VirtualClock;
let store: MemoryStore;
let source: Reader;
let replica: Replica;
let led: Led;

const submit = (id: string): Promise<unknown> =>
  led.leader.jobs.submit(
    { name: id, tasks: [{ id: 'a', executor: 'echo' }] },
    { jobId: jobId(id) },
  );

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  source = new StoreReader({ store, feed: new EventFeed({ store, clock }) });
});

function observe(through: Reader = source): void {
  const bounds = { jobsMax: 10, eventsMax: 100 };
  replica = new Replica({ source: through, clock, ...bounds, random: () => 0.5 });
  void replica.start();
  onTestFinished(() => void replica.stop());
}

/** Back to an earlier state, and a leader that goes on from there with a job of its own. */
async function goOnAfter(rewind: () => void): Promise<void> {
  rewind();
  const info = await store.leader(0);
  if (info !== null) await store.resign({ shard: 0, epoch: info.epoch, id: info.term });
  led = await lead(store, clock);
  await submit('other');
}

const listed = async (): Promise<string[]> =>
  (await replica.jobs({ limit: 9 })).value.items.map(({ id }) => id);

test('lost jobs are neither listed nor returned', async () => {
  await submit('kept');
  const rewind = store.snapshot();
  await submit('lost');
  observe();
  await clock.advance(1_000);
  expect(await listed()).toEqual(['lost', 'kept']);
  await goOnAfter(rewind);
  await clock.advance(1_000);
  expect(await listed()).toEqual(['other', 'kept']);
  expect((await replica.job(jobId('lost'))).value).toBeNull();
});

test('nothing from before is listed while everything is read again', async () => {
  await submit('kept');
  const rewind = store.snapshot();
  await submit('lost');
  const slow = deferred();
  let isSlow = false;
  const reader = new Proxy(source, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) =>
        isSlow && name === 'job'
          ? slow.promise.then(() => member.apply(target, args))
          : member.apply(target, args);
    },
  });
  observe(reader);
  await clock.advance(1_000);
  isSlow = true;
  await goOnAfter(rewind);
  await clock.advance(1_000);
  expect(await listed()).toEqual(['other', 'kept']);
  slow.resolve();
});

test('followers get an error when the history is another one', async () => {
  const rewind = store.snapshot();
  await submit('lost');
  observe();
  await clock.advance(1_000);
  const pages: EventPage[] = [];
  const following = (async () => {
    for await (const page of replica.follow({ after: 0 }, new AbortController().signal)) {
      pages.push(page);
    }
  })();
  const failure = following.catch((error: unknown) => error);
  await clock.advance(100);
  const place = pages.at(-1)?.asOf ?? { seq: 0, at: new Date(0) };
  expect(place.seq).toBeGreaterThan(1);
  await goOnAfter(rewind);
  await submit('more');
  await clock.advance(10_000);
  expect(await failure).toMatchObject({ code: 'expired' });
  // Coming back with the same place does not help either.
  const { seq: after, history = '' }: AsOf<Date> = place;
  const again = replica.follow({ after, history }, new AbortController().signal);
  await expect(again[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'expired' });
});
