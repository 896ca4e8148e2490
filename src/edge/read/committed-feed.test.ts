/** Followers on the node that leads: what it commits reaches them from its memory. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { CommittedEvents, EventPage, EventsQuery } from '../../scheduler/contract/index.ts';
import type { Leader } from '../../scheduler/coordinator/index.ts';
import type { MemoryStore, Store } from '../../scheduler/store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { EventFeed } from './event-feed.ts';

let clock: VirtualClock;
let store: MemoryStore;
let leader: Leader;
let feed: EventFeed;
/** Reads of the log, by name. */
let reads: string[];
/** Whether the leader hands over what it commits. */
let isHandedOver: boolean;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  reads = [];
  isHandedOver = true;
  const watched = {
    events: (...args: Parameters<Store['events']>) => {
      reads.push('events');
      return store.events(...args);
    },
    lastSeq: (shard: number) => {
      reads.push('lastSeq');
      return store.lastSeq(shard);
    },
    termEnd: (...args: Parameters<Store['termEnd']>) => store.termEnd(...args),
  };
  feed = new EventFeed({ store: watched, clock, restMs: 20, keptMax: 100 });
  ({ leader } = await lead(store, clock, { onCommitted }));
  await leader.loaded;
});

function onCommitted(committed: CommittedEvents): void {
  if (isHandedOver) feed.committed(committed);
}

async function runJob(worker: ScriptedWorker, name: string): Promise<void> {
  const tasks = [{ id: 't', executor: 'echo' }];
  await leader.jobs.submit({ name, tasks }, { jobId: jobId(name) });
  const [assignment] = await worker.poll(1);
  await worker.complete(assignment!.lease);
}

/** Follows in the background. */
function following(query: EventsQuery): { readonly pages: EventPage[]; stop: () => Promise<void> } {
  const pages: EventPage[] = [];
  const stopper = new AbortController();
  const done = (async () => {
    for await (const page of feed.follow(query, stopper.signal)) pages.push(page);
  })();
  return {
    pages,
    async stop() {
      stopper.abort();
      await clock.advance(1_000);
      await done;
    },
  };
}

const eventsIn = (pages: readonly EventPage[]) => pages.flatMap(({ events }) => events);

describe('a follower on the leader', () => {
  test('receives commits without reading the log', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const { seq: after } = await store.lastSeq(0);
    const { pages, stop } = following({ after });
    await clock.advance(50);
    reads.length = 0;
    for (let at = 0; at < 20; at += 1) {
      await runJob(worker, `job-${at}`);
      await clock.advance(20);
    }
    expect(reads).toEqual([]);
    const { seq, term } = await store.lastSeq(0);
    expect(pages.at(-1)?.asOf).toMatchObject({ seq, history: term });
    await stop();
    const stored = await store.events(0, after, 1_000);
    expect(eventsIn(pages).map(({ seq }) => seq)).toEqual(stored.map(({ seq }) => seq));
  });

  test('receives exactly the events that the store has', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const memory = following({ after: 0 });
    await clock.advance(50);
    await runJob(worker, 'one');
    await clock.advance(50);
    await memory.stop();
    isHandedOver = false;
    const again = following({ after: 0 });
    await clock.advance(1_000);
    await again.stop();
    expect(eventsIn(memory.pages)).toEqual(eventsIn(again.pages));
    expect(eventsIn(memory.pages)).toContainEqual(
      expect.objectContaining({ job: 'one', task: 't' }),
    );
  });

  test('sees at least what was acknowledged when it starts', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const early = following({ after: 0 });
    await clock.advance(50);
    await runJob(worker, 'one');
    const { seq } = await store.lastSeq(0);
    const late = following({ after: seq });
    await clock.advance(50);
    expect(late.pages[0]).toMatchObject({ events: [], asOf: { seq } });
    await Promise.all([early.stop(), late.stop()]);
  });
});

describe('the store is read', () => {
  test('when there is a gap in what was passed on', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const { pages, stop } = following({ after: 0 });
    await clock.advance(50);
    isHandedOver = false;
    await runJob(worker, 'one');
    isHandedOver = true;
    await runJob(worker, 'two');
    await clock.advance(20);
    expect(reads).toContain('events');
    await stop();
    const stored = await store.events(0, 0, 1_000);
    expect(eventsIn(pages).map(({ seq }) => seq)).toEqual(stored.map(({ seq }) => seq));
  });

  test('when more events come at once than are buffered', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const { pages, stop } = following({ after: 0 });
    await clock.advance(50);
    for (let at = 0; at < 40; at += 1) await runJob(worker, `job-${at}`);
    await clock.advance(20);
    await stop();
    const stored = await store.events(0, 0, 1_000);
    expect(stored.length).toBeGreaterThan(100);
    expect(eventsIn(pages).map(({ seq }) => seq)).toEqual(stored.map(({ seq }) => seq));
  });

  test('when a term begins, and a position in a lost history is refused as before', async () => {
    const worker = await ScriptedWorker.join(leader, 'w', ['echo']);
    const rewind = store.snapshot();
    const received: unknown[] = [];
    const stopper = new AbortController();
    const done = (async () => {
      for await (const page of feed.follow({ after: 0 }, stopper.signal)) received.push(page);
    })().catch((error: unknown) => received.push(error));
    await clock.advance(50);
    await runJob(worker, 'one');
    await clock.advance(50);
    rewind();
    await clock.advance(60_000);
    ({ leader } = await lead(store, clock, { onCommitted }));
    await leader.loaded;
    await runJob(await ScriptedWorker.join(leader, 'w2', ['echo']), 'other');
    await clock.advance(1_000);
    await done;
    expect(received.at(-1)).toMatchObject({ code: 'expired' });
  });
});
