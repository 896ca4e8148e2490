/**
 * What this process has acknowledged as a leader, to be compared with the store later. A store that was restored from
 * a backup, or failed over to a replica that lacks the last commits, has lost some of it, and only this process can
 * tell what.
 */
import type { Batch, JobId, JobRow } from '../core/index.ts';
import type { Counters, Store, Term } from '../store/index.ts';

/** A term's part of the history, as its leader knows it. */
export interface TermRecord {
  readonly term: Term;
  readonly began: Counters;
  readonly acknowledged: Counters;
}

/** Acknowledged commits that are not in the store any more. */
export interface Loss {
  readonly term: Term;
  /** The last point that the two histories have in common, as far as is known. */
  readonly end: Counters;
  readonly commits: number;
  readonly events: number;
  readonly jobs: number;
  /** Those of the lost jobs whose ids are still known. */
  readonly jobIds: readonly JobId[];
}

type NewJob = Pick<JobRow, 'no' | 'id'>;

/** The ids of so many of the newest jobs are remembered at least: enough for minutes of asynchronous replication. */
const JOBS_MIN = 20_000;

export class AcknowledgedHistory {
  /** By number, in two generations: to take out the oldest again and again would cost a walk over all the others. */
  #young: NewJob[] = [];
  #old: NewJob[] = [];
  #last: TermRecord | null = null;

  /** A batch was committed. */
  learn({ jobInserts }: Batch): void {
    for (const { no, id } of jobInserts) this.#young.push({ no, id });
    if (this.#young.length < JOBS_MIN) return;
    this.#old = this.#young;
    this.#young = [];
  }

  /** A term of this process has ended. */
  ended(record: TermRecord): void {
    this.#last = record;
  }

  /** What the store has lost of the last term; null if nothing, or if it was reported before. */
  async compare(store: Pick<Store, 'termEnd' | 'loadCluster'>): Promise<Loss | null> {
    const record = this.#last;
    if (record === null) return null;
    const { shard, id } = record.term;
    const end = (await store.termEnd(shard, id)) ?? earlier(record, await store.loadCluster(shard));
    this.#last = null;
    return this.#lossAfter(record, end);
  }

  #lossAfter({ term, acknowledged }: TermRecord, end: Counters): Loss | null {
    const commits = acknowledged.commitNo - end.commitNo;
    if (commits <= 0) return null;
    const isLost = ({ no }: NewJob): boolean => no >= end.nextJobNo;
    const lost = [...this.#old, ...this.#young].filter(isLost);
    this.#old = this.#old.filter((job) => !isLost(job));
    this.#young = this.#young.filter((job) => !isLost(job));
    return {
      term,
      end,
      commits,
      events: acknowledged.lastSeq - end.lastSeq,
      jobs: acknowledged.nextJobNo - end.nextJobNo,
      jobIds: lost.map(({ id }) => id),
    };
  }
}

/** The whole term is gone: the histories part where it began, or before. */
function earlier({ began }: TermRecord, now: Counters): Counters {
  const { commitNo, lastSeq, nextJobNo } = now.commitNo < began.commitNo ? now : began;
  return { commitNo, lastSeq, nextJobNo };
}

/** As text for the log of this process. */
export function lossText({ term, end, commits, events, jobs, jobIds }: Loss): string {
  const shown = jobIds.slice(0, 20).join(', ');
  const more = jobs > 20 || jobIds.length < jobs ? ', and more' : '';
  const which = jobIds.length === 0 ? '' : `: ${shown}${more}`;
  return [
    `The database has lost history: ${commits} commits (${events} events) of term ${term.id}, epoch ${term.epoch},`,
    `after event ${end.lastSeq} were acknowledged here and are gone.`,
    `${jobs} acknowledged ${jobs === 1 ? 'job is' : 'jobs are'} lost${which}.`,
    'What happened to other jobs since then is undone. The database was restored from a backup, or failed over',
    'to a replica that lacked the last commits. Submit the lost jobs again.',
  ].join(' ');
}
