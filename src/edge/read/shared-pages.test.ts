import { beforeEach, expect, test } from 'vitest';
import { jobNo } from '../../scheduler/core/index.ts';
import type { EventPage } from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { TestLeader } from '../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, aTask } from '../../../test/rig/conformance/rows.ts';
import { jobId, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';
import { EventFeed } from './event-feed.ts';
import type { EventFeedOptions } from './event-feed.ts';

let clock: VirtualClock;
let store: Store;
let leader: TestLeader;
/** Calls of the store, by name. */
let calls: string[];

beforeEach(() => open());

async function open(): Promise<void> {
  clock = new VirtualClock();
  store = memoryStore(clock);
  leader = await TestLeader.of(store, 0);
  calls = [];
}

function newFeed(options: Partial<EventFeedOptions> = {}): EventFeed {
  const watched = {
    events: async (...args: Parameters<Store['events']>) => {
      calls.push('events');
      return store.events(...args);
    },
    termEnd: (...args: Parameters<Store['termEnd']>) => store.termEnd(...args),
    lastSeq: async (shard: number) => {
      calls.push('lastSeq');
      return store.lastSeq(shard);
    },
  };
  return new EventFeed({ store: watched, clock, restMs: 0, ...options });
}

/** Appends so many events, of the jobs that are given in turn. */
async function append(count: number, jobs: readonly number[] = []): Promise<void> {
  const events = Array.from({ length: count }, (_, at) => {
    const no = jobs[at % jobs.length];
    return { at: leader.now, ...(no === undefined ? {} : { jobNo: jobNo(no) }) };
  });
  await leader.commit({ events });
}

async function addJob(no: number): Promise<void> {
  await leader.submit(aJob(no), [aSpec(no, 0)], [aTask(no, 0)]);
}

class Follower {
  readonly stopper = new AbortController();
  readonly seen: number[] = [];
  readonly pages: EventPage[] = [];
  readonly #pages: AsyncIterator<EventPage>;

  constructor(feed: EventFeed, after: number, job?: string) {
    const query = { after, ...(job === undefined ? {} : { job: jobId(job) }) };
    this.#pages = feed.follow(query, this.stopper.signal)[Symbol.asyncIterator]();
  }

  /** False when the stream has ended. */
  async next(): Promise<boolean> {
    const result = await this.#pages.next();
    if (result.done === true) return false;
    this.pages.push(result.value);
    this.seen.push(...result.value.events.map(({ seq }) => seq));
    return true;
  }

  /** Reads until it has seen event `seq`. */
  async until(seq: number): Promise<void> {
    while ((this.pages.at(-1)?.asOf.seq ?? 0) < seq) await this.next();
  }

  async leave(): Promise<void> {
    await this.#pages.return?.();
  }
}

test('gets the very page of others that stand where it does', async () => {
  const feed = newFeed();
  const followers = [new Follower(feed, 0), new Follower(feed, 0), new Follower(feed, 0)];
  for (const follower of followers) await follower.next();
  const waiting = followers.map((follower) => follower.next());
  await append(3);
  feed.wake();
  await Promise.all(waiting);
  const [first, ...others] = followers.map(({ pages }) => pages.at(-1));
  expect(first?.events).toHaveLength(3);
  for (const other of others) expect(other).toBe(first);
});

test('shares pages with hundreds of others that come less often, so that all of them cost little', async () => {
  const feed = newFeed({ restMs: 20 });
  const followers = Array.from({ length: 400 }, () => new Follower(feed, 0));
  await Promise.all(followers.map((follower) => follower.next()));
  const reading = followers.map((follower) => follower.until(50));
  calls = [];
  for (let round = 0; round < 50; round += 1) {
    await append(1);
    feed.wake();
    await clock.advance(20);
  }
  await clock.advance(1_000);
  await Promise.all(reading);
  for (const { seen } of followers) expect(seen).toHaveLength(50);
  // Fifty commits in a second, and a page for each follower five times a second.
  const pages = followers.reduce((sum, follower) => sum + follower.pages.length, 0);
  expect(pages).toBeLessThan(400 * 9);
});

test('of one job is left alone by the events of others, and loses no place by it', async () => {
  await addJob(1);
  await addJob(2);
  const feed = newFeed({ keptMax: 4 });
  const follower = new Follower(feed, leader.lastSeq, 'job-1');
  await follower.next();
  calls = [];
  const waiting = follower.next();
  for (let round = 0; round < 5; round += 1) {
    await append(4, [2]);
    feed.wake();
    await settled();
  }
  const looks = calls.filter((call) => call === 'events').length;
  await append(1, [1]);
  feed.wake();
  await waiting;
  expect(follower.seen).toEqual([leader.lastSeq]);
  // The tail has read each batch once; the follower has read nothing, although what it skipped is not kept any more.
  expect(calls.filter((call) => call === 'events')).toHaveLength(looks + 1);
});
