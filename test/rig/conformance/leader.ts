/** A leader for tests: it wins a shard, keeps the counters, and commits what it is given. */
import {
  type Batch,
  batchOf,
  type EventRow,
  type Instant,
  type JobRow,
  jobNo,
  type MillraceError,
  type TaskRow,
  type TaskSpecRow,
} from '../../../src/scheduler/core/index.ts';
import type { Candidacy, Store, Term } from '../../../src/scheduler/store/index.ts';
import { anEvent, termId } from './rows.ts';

export const TTL_MS = 600_000;

export function candidacy(shard: number, parts: Partial<Candidacy> = {}): Candidacy {
  return {
    shard,
    nodeId: 'node-a',
    url: 'http://127.0.0.1:7070',
    grpc: '127.0.0.1:7071',
    term: termId(`term-${shard}`),
    ttlMs: TTL_MS,
    ...parts,
  };
}

export type Changes = Partial<Omit<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo' | 'events'>> & {
  /** Numbered by the leader. */
  readonly events?: readonly Partial<EventRow>[];
};

export class TestLeader {
  readonly store: Store;
  readonly shard: number;
  readonly term: Term;
  /** The database's time when the shard was won. */
  readonly now: Instant;
  commitNo = 0;
  lastSeq = 0;
  nextJobNo = 1;

  constructor(store: Store, term: Term, now: Instant) {
    this.store = store;
    this.shard = term.shard;
    this.term = term;
    this.now = now;
  }

  static async of(store: Store, shard: number): Promise<TestLeader> {
    const campaign = await store.campaign(candidacy(shard));
    if (!campaign.won) throw new Error(`shard ${shard} is led by ${campaign.leader.nodeId}`);
    return new TestLeader(store, campaign.term, campaign.now);
  }

  batch({ events = [], ...parts }: Changes): Batch {
    const numbered = events.map((event, at) => anEvent(this.lastSeq + at + 1, event));
    const numbers = (parts.jobInserts ?? []).map((job) => job.no + 1);
    return batchOf({
      commitNo: this.commitNo + 1,
      lastSeq: this.lastSeq + numbered.length,
      nextJobNo: jobNo(Math.max(this.nextJobNo, ...numbers)),
      events: numbered,
      ...parts,
    });
  }

  async commit(changes: Changes): Promise<Instant> {
    const batch = this.batch(changes);
    const now = await this.store.commit(this.term, TTL_MS, batch);
    this.#follow(batch);
    return now;
  }

  /** All at once, each on top of the one before; the code of each error, `made` without one. */
  async commitAll(all: readonly Changes[]): Promise<readonly string[]> {
    const { commitNo, lastSeq, nextJobNo } = this;
    const batches = all.map((changes) => {
      const batch = this.batch(changes);
      this.#follow(batch);
      return batch;
    });
    const asked = batches.map((batch) => this.store.commit(this.term, TTL_MS, batch));
    const outcomes = await Promise.allSettled(asked);
    Object.assign(this, { commitNo, lastSeq, nextJobNo });
    return outcomes.map((outcome, at) => {
      if (outcome.status === 'rejected') return (outcome.reason as MillraceError).code;
      this.#follow(batches[at] as Batch);
      return 'made';
    });
  }

  #follow({ commitNo, lastSeq, nextJobNo }: Batch): void {
    Object.assign(this, { commitNo, lastSeq, nextJobNo });
  }

  /** One job with its tasks. */
  async submit(
    job: JobRow,
    specs: readonly TaskSpecRow[] = [],
    tasks: readonly TaskRow[] = [],
  ): Promise<void> {
    await this.commit({ jobInserts: [job], specInserts: specs, taskInserts: tasks });
  }
}

/** All that can be seen of a shard, to be compared before and after. */
export async function shardContent(store: Store, shard: number): Promise<object> {
  const { lastSeq, nextJobNo, nodes, schedules } = await store.loadCluster(shard);
  const jobs = await store.jobs(shard, { limit: 1_000 });
  const views = await Promise.all(jobs.map((job) => store.job(shard, job.id)));
  const images = await Promise.all(jobs.map((job) => store.loadJob(shard, job.id)));
  const tasks = views.flatMap((view) => view?.tasks ?? []);
  const steps = await Promise.all(tasks.map(({ task }) => store.steps(shard, task, task.run)));
  const events = await store.events(shard, 0, 10_000);
  const leader = await store.leader(shard);
  return { lastSeq, nextJobNo, nodes, schedules, views, images, steps, events, leader };
}
