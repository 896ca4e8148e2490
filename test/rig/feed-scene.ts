/** An event feed over a store in memory, whose reads are counted, and its followers. */
import { jobNo } from '../../src/scheduler/core/index.ts';
import type { MillraceError } from '../../src/scheduler/core/index.ts';
import type { EventPage } from '../../src/scheduler/contract/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { EventFeed } from '../../src/edge/read/event-feed.ts';
import type { EventFeedOptions } from '../../src/edge/read/event-feed.ts';
import { TestLeader } from './conformance/leader.ts';
import { aJob, aSpec, aTask } from './conformance/rows.ts';
import { jobId, memoryStore } from './lead.ts';
import { VirtualClock } from './virtual-clock.ts';

export class FeedScene {
  readonly clock: VirtualClock = new VirtualClock();
  store: Store = memoryStore(this.clock);
  /** Calls of the store, by name. */
  readonly calls: string[] = [];
  /** Reads fail with this while it is set. */
  outage: MillraceError | null = null;
  #leader: TestLeader | null = null;

  static async open(): Promise<FeedScene> {
    const scene = new FeedScene();
    await scene.lead();
    return scene;
  }

  get leader(): TestLeader {
    if (this.#leader === null) throw new Error('the scene is not open');
    return this.#leader;
  }

  /** A new leader of the store. */
  async lead(): Promise<void> {
    this.#leader = await TestLeader.of(this.store, 0);
  }

  newFeed(options: Partial<EventFeedOptions> = {}): EventFeed {
    const store: EventFeedOptions['store'] = {
      events: (...args) => this.#read('events', () => this.store.events(...args)),
      termEnd: (...args) => this.store.termEnd(...args),
      lastSeq: (shard) => this.#read('lastSeq', () => this.store.lastSeq(shard)),
    };
    return new EventFeed({ store, clock: this.clock, restMs: 0, ...options });
  }

  async #read<T>(name: string, read: () => Promise<T>): Promise<T> {
    this.calls.push(name);
    if (this.outage !== null) throw this.outage;
    return read();
  }

  /** Appends so many events, of the jobs that are given in turn. */
  async append(count: number, jobs: readonly number[] = []): Promise<void> {
    const events = Array.from({ length: count }, (_, at) => {
      const no = jobs[at % jobs.length];
      return { at: this.leader.now, ...(no === undefined ? {} : { jobNo: jobNo(no) }) };
    });
    await this.leader.commit({ events });
  }

  async addJob(no: number): Promise<void> {
    await this.leader.submit(aJob(no), [aSpec(no, 0)], [aTask(no, 0)]);
  }
}

export class Follower {
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
