import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { MillraceError } from '../../scheduler/core/index.ts';
import { jobId, memoryStore } from '../../../test/rig/lead.ts';
import { FeedScene, Follower } from '../../../test/rig/feed-scene.ts';
import { settled } from '../../../test/rig/virtual-clock.ts';

const AGES = { jobsMs: 1, eventsMs: 1, keysMs: 1, jobsMax: 100 };

let scene: FeedScene;

beforeEach(() => open());

async function open(): Promise<void> {
  scene = await FeedScene.open();
}

const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('a follower', () => {
  test('sees existing events, then new ones, in order and once', async () => {
    await scene.append(3);
    const feed = scene.newFeed();
    const follower = new Follower(feed, 1);
    await follower.next();
    expect(follower.seen).toEqual([2, 3]);
    const waiting = follower.next();
    await scene.append(2);
    feed.wake();
    await waiting;
    expect(follower.seen).toEqual([2, 3, 4, 5]);
    expect(follower.pages.at(-1)?.asOf.seq).toBe(5);
  });

  test('gets an empty page at once, and keep-alives after that', async () => {
    await scene.append(3);
    const follower = new Follower(scene.newFeed(), 3);
    await follower.next();
    const waiting = follower.next();
    await scene.clock.advance(5_000);
    await waiting;
    expect(follower.pages.map(({ events, asOf }) => [events.length, asOf.seq])).toEqual([
      [0, 3],
      [0, 3],
    ]);
    const [first, second] = follower.pages.map(({ asOf }) => asOf.at.getTime());
    // As of the last look: the log is looked at four times a second.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(4_750);
  });

  test('sees new events after the next poll without being woken', async () => {
    const follower = new Follower(scene.newFeed(), 0);
    await follower.next();
    const waiting = follower.next();
    await scene.append(1);
    await scene.clock.advance(250);
    await waiting;
    expect(follower.seen).toEqual([1]);
  });

  test('of one job sees only its events, and its position moves on with the others', async () => {
    await scene.addJob(1);
    await scene.addJob(2);
    await scene.append(10, [1, 2]);
    const feed = scene.newFeed({ pageMax: 2 });
    const [one, none] = [new Follower(feed, 0, 'job-1'), new Follower(feed, 0, 'job-9')];
    await one.until(10);
    expect(one.seen).toEqual([1, 3, 5, 7, 9]);
    await none.next();
    expect(none.pages).toMatchObject([{ events: [], asOf: { seq: 10 } }]);
    const waiting = one.next();
    await scene.append(4, [2, 2, 2, 1]);
    feed.wake();
    await waiting;
    expect(one.seen.at(-1)).toBe(14);
  });

  test('whose position is no longer retained gets an error with the position to continue from', async () => {
    await scene.append(5);
    await scene.clock.advance(10);
    await scene.store.prune(scene.leader.term, AGES);
    await scene.append(1);
    const follower = new Follower(scene.newFeed(), 2);
    await expect(follower.next()).rejects.toMatchObject({
      code: 'expired',
      what: expect.stringContaining('the oldest one is 6') as string,
    });
  });

  test('whose position is beyond the log gets an error', async () => {
    await scene.append(5);
    const follower = new Follower(scene.newFeed(), 6);
    await expect(follower.next()).rejects.toMatchObject({ code: 'expired' });
  });

  test('that saw an event elsewhere before this node did continues', async () => {
    const feed = scene.newFeed();
    const early = new Follower(feed, 0);
    await early.next();
    await scene.append(2);
    const follower = new Follower(feed, 2);
    await follower.next();
    expect(follower.pages).toMatchObject([{ events: [], asOf: { seq: 2 } }]);
  });

  test('ends when its signal aborts, also while it waits', async () => {
    const follower = new Follower(scene.newFeed(), 0);
    await follower.next();
    const waiting = follower.next();
    await settled();
    follower.stopper.abort();
    expect(await waiting).toBe(false);
    expect(await follower.next()).toBe(false);
  });
});

describe('the tail', () => {
  test('is read once for all: a thousand followers cost one read', async () => {
    const feed = scene.newFeed();
    const followers = Array.from({ length: 1_000 }, () => new Follower(feed, 0));
    await Promise.all(followers.map((follower) => follower.next()));
    const waiting = followers.map((follower) => follower.next());
    await scene.append(3);
    scene.calls.length = 0;
    feed.wake();
    await Promise.all(waiting);
    expect(scene.calls).toEqual(['lastSeq', 'events', 'lastSeq']);
    for (const { seen } of followers) expect(seen).toEqual([1, 2, 3]);
  });

  test('is rate-limited, however often it is woken', async () => {
    const feed = scene.newFeed({ restMs: 20 });
    const follower = new Follower(feed, 0);
    await follower.next();
    await scene.clock.advance(100);
    scene.calls.length = 0;
    const waiting = follower.until(50);
    for (let at = 0; at < 50; at += 1) {
      await scene.append(1);
      feed.wake();
      await scene.clock.advance(1);
    }
    await scene.clock.advance(20);
    await waiting;
    expect(follower.seen).toEqual(upTo(1, 50));
    expect(scene.calls.filter((name) => name === 'events').length).toBeLessThanOrEqual(4);
  });

  test('is not read while nobody follows', async () => {
    const feed = scene.newFeed();
    await scene.clock.advance(10_000);
    expect(scene.calls).toEqual([]);
    const [one, two] = [new Follower(feed, 0), new Follower(feed, 0)];
    await one.next();
    await two.next();
    expect(feed.followers).toBe(2);
    await one.leave();
    // It stands still at a page, and does not see the signal by itself.
    two.stopper.abort();
    expect(feed.followers).toBe(0);
    await scene.clock.advance(0);
    scene.calls.length = 0;
    await scene.clock.advance(10_000);
    expect(scene.calls).toEqual([]);
    await scene.append(2);
    const three = new Follower(feed, 0);
    await three.next();
    expect(three.seen).toEqual([1, 2]);
  });

  test('buffers no more than its limit for a slow follower, which loses nothing', async () => {
    const feed = scene.newFeed({ keptMax: 8, pageMax: 4 });
    const [fast, slow] = [new Follower(feed, 0), new Follower(feed, 0)];
    await Promise.all([fast.next(), slow.next()]);
    for (let at = 0; at < 20; at += 1) {
      await scene.append(5);
      feed.wake();
      await fast.until((at + 1) * 5);
    }
    await slow.until(100);
    expect(slow.seen).toEqual(upTo(1, 100));
    expect(fast.seen).toEqual(upTo(1, 100));
  });

  test('outlives an outage of the store: followers see that nothing new is known', async () => {
    await scene.append(1);
    const feed = scene.newFeed();
    const follower = new Follower(feed, 1);
    await follower.next();
    scene.outage = new MillraceError({ code: 'store_unavailable', what: 'away' });
    const alive = follower.next();
    await scene.clock.advance(5_000);
    await alive;
    const [before, during] = follower.pages.map(({ asOf }) => asOf.at.getTime());
    expect((during ?? 0) - (before ?? 0)).toBeLessThan(1_000);
    scene.outage = null;
    await scene.append(1);
    const waiting = follower.next();
    await scene.clock.advance(250);
    await waiting;
    expect(follower.seen).toEqual([2]);
  });

  test('that cannot be opened, or fails for good, says why; the next follower starts a new one', async () => {
    const feed = scene.newFeed();
    scene.outage = new MillraceError({ code: 'store_unavailable', what: 'away' });
    await expect(new Follower(feed, 0).next()).rejects.toThrow('away');
    scene.outage = null;
    const follower = new Follower(feed, 0);
    await follower.next();
    const waiting = follower.next();
    scene.outage = new MillraceError({ code: 'bad_row', what: 'broken' });
    feed.wake();
    await expect(waiting).rejects.toThrow('broken');
    scene.outage = null;
    expect(await new Follower(feed, 0).next()).toBe(true);
    expect(feed.followers).toBe(1);
  });

  test('on a log that was restored to an earlier state ends its followers', async () => {
    await scene.append(5);
    const feed = scene.newFeed();
    const follower = new Follower(feed, 5);
    await follower.next();
    const waiting = follower.next();
    // The same feed over a scene.store that knows less.
    scene.store = memoryStore(scene.clock);
    await scene.lead();
    await scene.append(2);
    feed.wake();
    await expect(waiting).rejects.toMatchObject({ code: 'expired' });
  });
});

describe('a follower among others', () => {
  test('shares the page of others at the same position', async () => {
    const feed = scene.newFeed();
    const followers = [new Follower(feed, 0), new Follower(feed, 0), new Follower(feed, 0)];
    for (const follower of followers) await follower.next();
    const waiting = followers.map((follower) => follower.next());
    await scene.append(3);
    feed.wake();
    await Promise.all(waiting);
    const [first, ...others] = followers.map(({ pages }) => pages.at(-1));
    expect(first?.events).toHaveLength(3);
    for (const other of others) expect(other).toBe(first);
  });

  test('shares pages with hundreds of others, which are sent less often', async () => {
    const feed = scene.newFeed({ restMs: 20 });
    const followers = Array.from({ length: 400 }, () => new Follower(feed, 0));
    await Promise.all(followers.map((follower) => follower.next()));
    const reading = followers.map((follower) => follower.until(50));
    scene.calls.length = 0;
    for (let round = 0; round < 50; round += 1) {
      await scene.append(1);
      feed.wake();
      await scene.clock.advance(20);
    }
    await scene.clock.advance(1_000);
    await Promise.all(reading);
    for (const { seen } of followers) expect(seen).toHaveLength(50);
    // Fifty commits in a second, and a page for each follower five times a second.
    const pages = followers.reduce((sum, follower) => sum + follower.pages.length, 0);
    expect(pages).toBeLessThan(400 * 9);
  });

  test('of one job is not woken by events of others, and keeps its position', async () => {
    await scene.addJob(1);
    await scene.addJob(2);
    const feed = scene.newFeed({ keptMax: 4 });
    const follower = new Follower(feed, scene.leader.lastSeq, 'job-1');
    await follower.next();
    scene.calls.length = 0;
    const waiting = follower.next();
    for (let round = 0; round < 5; round += 1) {
      await scene.append(4, [2]);
      feed.wake();
      await settled();
    }
    const looks = scene.calls.filter((call) => call === 'events').length;
    await scene.append(1, [1]);
    feed.wake();
    await waiting;
    expect(follower.seen).toEqual([scene.leader.lastSeq]);
    // The tail has read each batch once; the follower has read nothing, although what it skipped is not kept any more.
    expect(scene.calls.filter((call) => call === 'events')).toHaveLength(looks + 1);
  });
});

test('every follower sees each event exactly once and in order, whatever the pace', async () => {
  const follower = fc.record({
    after: fc.nat(20),
    job: fc.constantFrom(undefined, 1, 2),
    joinsAt: fc.nat(10),
    /** How many pages it reads after each batch. */
    pace: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
  });
  const scenario = fc.record({
    batches: fc.array(fc.nat(15), { minLength: 12, maxLength: 12 }),
    followers: fc.array(follower, { minLength: 1, maxLength: 5 }),
    keptMax: fc.integer({ min: 1, max: 20 }),
    pageMax: fc.integer({ min: 1, max: 7 }),
    wakes: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ batches, followers, keptMax, pageMax, wakes }) => {
      await open();
      await scene.addJob(1);
      await scene.addJob(2);
      await scene.append(20, [1, 2, 7]);
      const feed = scene.newFeed({ keptMax, pageMax });
      const running: { at: number; reads: Follower; done: Promise<unknown> }[] = [];
      for (const [turn, size] of batches.entries()) {
        for (const [at, { after, job, joinsAt }] of followers.entries()) {
          if (Math.min(joinsAt, 10) !== turn) continue;
          const reads = new Follower(feed, after, job === undefined ? undefined : `job-${job}`);
          running.push({ at, reads, done: Promise.resolve() });
        }
        await scene.append(size, [2, 1, 7]);
        if (wakes[turn] === true) feed.wake();
        for (const each of running) {
          const pages = followers[each.at]?.pace[turn] ?? 0;
          for (let page = 0; page < pages; page += 1) {
            each.done = each.done.then(() => each.reads.next());
          }
        }
        await scene.clock.advance(100);
      }
      const head = scene.leader.lastSeq;
      const all = Promise.all(running.map(({ reads, done }) => done.then(() => reads.until(head))));
      const over = new AbortController();
      void all.finally(() => over.abort());
      while (!over.signal.aborted) await scene.clock.advance(1_000);
      await all;
      for (const { at, reads } of running) {
        const { after = 0, job } = followers[at] ?? {};
        const log = await scene.store.events(
          0,
          after,
          1_000,
          ...(job ? [jobId(`job-${job}`)] : []),
        );
        expect(reads.seen).toEqual(log.map(({ seq }) => seq));
        await reads.leave();
      }
      expect(feed.followers).toBe(0);
    }),
    { numRuns: 100 },
  );
});
