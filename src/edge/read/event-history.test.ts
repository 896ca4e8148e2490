/** Followers of the log when the database goes back to an earlier state. */
import { beforeEach, expect, test } from 'vitest';
import type { EventPage, EventsQuery } from '../../scheduler/contract/index.ts';
import type { MemoryStore } from '../../scheduler/store/index.ts';
import { candidacy, TestLeader, TTL_MS } from '../../../test/rig/conformance/leader.ts';
import { termId } from '../../../test/rig/conformance/rows.ts';
import { memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { EventFeed } from './event-feed.ts';

let clock: VirtualClock;
let store: MemoryStore;
let leader: TestLeader;
let feed: EventFeed;

const EXPIRED = {
  code: 'expired',
  what: expect.stringMatching(/no longer belongs to the current history/) as string,
};

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  leader = await TestLeader.of(store, 0);
  feed = new EventFeed({ store, clock, restMs: 0 });
});

async function append(count: number): Promise<void> {
  await leader.commit({ events: Array.from({ length: count }, () => ({ at: leader.now })) });
}

/** A new term begins from what is there. */
async function nextTerm(name: string): Promise<void> {
  await store.resign(leader.term);
  const campaign = await store.campaign(candidacy(0, { term: termId(name), ttlMs: TTL_MS }));
  if (!campaign.won) throw new Error('somebody leads');
  leader = new TestLeader(store, campaign.term, campaign.now);
  Object.assign(leader, await store.loadCluster(0));
}

/** Follows until `count` events came, or an error did. */
async function follow(query: EventsQuery, count: number): Promise<EventPage[]> {
  const pages: EventPage[] = [];
  const stop = new AbortController();
  let seen = 0;
  for await (const page of feed.follow(query, stop.signal)) {
    pages.push(page);
    seen += page.events.length;
    if (seen >= count) stop.abort();
  }
  return pages;
}

/** Where a follower is that has read so far. */
async function placeAfter(count: number): Promise<EventsQuery> {
  const last = (await follow({ after: 0 }, count)).at(-1);
  const { seq: after = 0, history = '' } = last?.asOf ?? {};
  return { after, history };
}

test('a position in a lost history is refused, although an event has that number again', async () => {
  const rewind = store.snapshot();
  await append(10);
  const place = await placeAfter(10);
  rewind();
  await nextTerm('after');
  await append(20);
  await expect(follow(place, 1)).rejects.toMatchObject(EXPIRED);
  // The number alone says nothing of a history.
  expect((await follow({ after: place.after }, 1)).at(0)?.events[0]?.seq).toBe(11);
});

test('a position that both histories share is valid under any later term', async () => {
  await append(10);
  const place = await placeAfter(10);
  const rewind = store.snapshot();
  await append(5);
  rewind();
  for (const name of ['second', 'third']) await nextTerm(name);
  await append(2);
  expect((await follow(place, 2)).flatMap(({ events }) => events.map(({ seq }) => seq))).toEqual([
    11, 12,
  ]);
});

test('a follower that has read lost events gets an error and no other events', async () => {
  const rewind = store.snapshot();
  await append(10);
  const pages: EventPage[] = [];
  const following = (async () => {
    for await (const page of feed.follow({ after: 0 }, new AbortController().signal)) {
      pages.push(page);
    }
  })();
  const failure = following.catch((error: unknown) => error);
  await clock.advance(1_000);
  rewind();
  await nextTerm('after');
  await append(30);
  await clock.advance(1_000);
  expect(await failure).toMatchObject(EXPIRED);
  expect(pages.flatMap(({ events }) => events).map(({ seq }) => seq)).toHaveLength(10);
  expect(new Set(pages.map(({ asOf }) => asOf.history))).toEqual(new Set(['term-0']));
});

test('a follower that had not read lost events continues without an error', async () => {
  await append(4);
  const rewind = store.snapshot();
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { events } of feed.follow({ after: 0 }, stop.signal)) {
      seen.push(...events.map(({ seq }) => seq));
    }
  })();
  await clock.advance(1_000);
  rewind();
  await nextTerm('after');
  await append(3);
  await clock.advance(1_000);
  stop.abort();
  await clock.advance(1_000);
  await following;
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('what is read from the store while the history changes is not passed on', async () => {
  const rewind = store.snapshot();
  await append(10);
  const place = await placeAfter(10);
  let changes = 1;
  feed = new EventFeed({
    clock,
    restMs: 0,
    store: {
      lastSeq: (shard) => store.lastSeq(shard),
      termEnd: (shard, term) => store.termEnd(shard, term),
      events: async (...args) => {
        // Just before the first read: what it finds under those numbers is something else.
        if ((changes -= 1) === 0) {
          rewind();
          await nextTerm('after');
          await append(40);
        }
        return store.events(...args);
      },
    },
  });
  await append(5);
  await expect(follow(place, 1)).rejects.toMatchObject(EXPIRED);
});
