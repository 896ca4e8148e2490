/**
 * What the process that owns the file knows by heart: who leads each shard, how far the counters
 * are, and where names are found. All of it is read from the file once, and changes after the
 * commit that makes it true.
 *
 * A term ends with the process: whoever opens the file holds its lock, so no earlier leader can be
 * alive. That is why only epoch and term are stored, and a renewal writes nothing.
 */
import { instant, type Instant, type JobNo, jobNo, type TermId } from '../../core/index.ts';
import { deposed } from '../refusals.ts';
import type { Candidacy, LeaderInfo, Term } from '../store.ts';
import { HashIndex } from './hash-index.ts';
import { type Session } from './session.ts';

export interface Shard {
  readonly no: number;
  readonly epoch: number;
  readonly leader: LeaderInfo | null;
  /** The last term that has begun; null before the first one. */
  readonly term: TermId | null;
  /** The oldest event that is kept, or the next one when none is. */
  readonly firstSeq: number;
  /** The last commit that the tables have; the journal may be ahead, and the counters with it. */
  readonly commitNo: number;
  /** Of jobs that came after this commit and that folds have left out, only the journal has the rows. */
  readonly settledNo: number;
  readonly lastSeq: number;
  readonly nextJobNo: JobNo;
}

const FRESH = {
  epoch: 0,
  leader: null,
  term: null,
  firstSeq: 1,
  commitNo: 0,
  settledNo: 0,
  lastSeq: 0,
  nextJobNo: jobNo(1),
} as const;

export class Shards {
  #shards: Map<number, Shard> = new Map();
  jobs: HashIndex = new HashIndex();
  jobKeys: HashIndex = new HashIndex();
  keys: HashIndex = new HashIndex();
  nextKeyNo = 1;

  get all(): readonly Shard[] {
    return [...this.#shards.values()].toSorted((a, b) => a.no - b.no);
  }

  get(no: number): Shard {
    return this.#shards.get(no) ?? { no, ...FRESH };
  }

  set(shard: Shard): void {
    this.#shards.set(shard.no, shard);
  }

  /** The shard, if `term` leads it. */
  led(term: Term): Shard {
    const shard = this.get(term.shard);
    const { leader } = shard;
    if (leader === null || leader.epoch !== term.epoch || leader.term !== term.id) {
      throw deposed(term);
    }
    return shard;
  }

  /** Does nothing to a term that ended meanwhile. */
  extend(shard: Shard, ttlMs: number, now: Instant): Instant {
    if (shard.leader !== null) {
      this.set({ ...shard, leader: { ...shard.leader, expiresAt: instant(now + ttlMs) } });
    }
    return now;
  }

  release(term: Term): void {
    const shard = this.get(term.shard);
    const { leader } = shard;
    if (leader?.epoch === term.epoch && leader.term === term.id) {
      this.set({ ...shard, leader: null });
    }
  }

  /** The leaders stay; everything else is reloaded. */
  async load(session: Session): Promise<void> {
    const before = this.#shards;
    this.#shards = await shardsIn(session);
    for (const shard of this.#shards.values()) {
      const { leader } = before.get(shard.no) ?? FRESH;
      this.set({ ...shard, leader });
    }
    this.jobs = await indexOf(session, 'job', 'id_hash');
    this.jobKeys = await indexOf(session, 'job', 'idempotency_key_hash');
    this.keys = await indexOf(session, 'idempotency', 'scope_hash');
    const last = await session.rows('select coalesce(max(no), 0) from idempotency');
    this.nextKeyNo = (last[0]?.[0] as number) + 1;
  }
}

type ShardCells = [number, number, number, number, number, number, number, TermId | null];

async function shardsIn(session: Session): Promise<Map<number, Shard>> {
  const rows = await session.rows(
    `select s.shard, s.epoch, s.first_seq,
            greatest(s.last_seq, (select max(last_seq) from event_chunk e where e.shard = s.shard)),
            greatest(s.next_job_no, (select max(no) + 1 from job j where j.shard = s.shard)),
            s.commit_no, coalesce(s.settled_no, s.commit_no),
            (select max_by(term, epoch) from term t where t.shard = s.shard)
       from shard s`,
  );
  return new Map(
    (rows as ShardCells[]).map(
      ([no, epoch, firstSeq, lastSeq, next, commitNo, settledNo, term]) => {
        const counters = { lastSeq, nextJobNo: jobNo(next), commitNo, settledNo };
        return [no, { ...FRESH, no, epoch, firstSeq, ...counters, term }];
      },
    ),
  );
}

async function indexOf(session: Session, table: string, column: string): Promise<HashIndex> {
  const index = new HashIndex();
  // In portions, so that a million names are never in memory as rows.
  const portion = 100_000;
  for (let from = 0; ;) {
    const rows = (await session.rows(
      `select ${column}, no from ${table} where no > $1::bigint and ${column} is not null
        order by no limit ${portion}`,
      from,
    )) as number[][];
    for (const [hash = 0, no = 0] of rows) index.add(hash, no);
    if (rows.length < portion) return index;
    from = rows.at(-1)?.[1] ?? 0;
  }
}

export function leaderTermOf(candidacy: Candidacy, epoch: number, now: Instant): LeaderInfo {
  const { nodeId, url, grpc, term, ttlMs } = candidacy;
  return { nodeId, url, grpc, epoch, term, expiresAt: instant(now + ttlMs) };
}
