/** The journal in the database: one row for each commit, in two tables that take turns (migration 0020). */
import type { Batch, Instant, JobNo, TermId } from '../../core/index.ts';
import type { JournalRecord, JournalState, NewRecord } from '../journal/port.ts';
import type { Term } from '../store.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { FoldConnection } from './fold-connection.ts';
import type { LeaderConnection, Prepared } from './leader-connection.ts';
import * as rows from './rows.ts';
import { offenceIn, storedChecks } from './stored-checks.ts';
import { leaseMs, timeoutMultiplierFor } from './timeout-multiplier.ts';

const NAMES = rows.jobs.only('id', 'idempotency_key');

/** The fence, the names of new jobs, the record. */
const APPEND = `millrace.append(
      millrace.check_names(millrace.fence($1, $2, $3, $4, $5, $6, $7, $8), $9, $10), $11, $5, $12, $3, $13)`;
export const appendStatement: Prepared = {
  statement: `select ${APPEND}, now() as at`,
  parameters: 13,
};

/** One round trip: the connection has others behind it. */
function checkedAppend(select: string): string {
  return `select case when c.offence is null then ${APPEND} end, c.offence, c.bad, now() as at
    from (select) one left join (${select}) c on true`;
}

/** So much is appended to one of the two tables before the other one takes over, if that is empty. */
const PART_CHARS = 16 * 1024 * 1024;
/** Others that hold the table, a backup for instance, are not waited for; it is tried again with the next fold. */
const TRIM_LOCK_MS = 50;

type Part = 0 | 1;

/** Which of the two tables is written to, as far as this process knows: a wrong idea of it loses nothing. */
export class JournalParts {
  #part: Part = 0;
  #chars = 0;
  /** The last commit in the other one; null when that is empty. */
  #closedAt: number | null = Number.MAX_SAFE_INTEGER;
  #isTrimming = false;

  /** Where the next record goes. */
  next(chars: number, commitNo: number): Part {
    if (this.#chars > PART_CHARS && this.#closedAt === null) {
      this.#part = this.#part === 0 ? 1 : 0;
      this.#chars = 0;
      this.#closedAt = commitNo - 1;
    }
    this.#chars += chars;
    return this.#part;
  }

  /** The tables are at commit `foldedNo`. */
  async trim(connection: FoldConnection, foldedNo: number): Promise<void> {
    const isDue =
      this.#closedAt === Number.MAX_SAFE_INTEGER || (this.#closedAt ?? Infinity) <= foldedNo;
    if (!isDue || this.#isTrimming) return;
    this.#isTrimming = true;
    const before = this.#closedAt;
    const other: Part = this.#part === 0 ? 1 : 0;
    try {
      const statement = `select millrace.trim_journal($1) as is_empty
        from set_config('lock_timeout', '${TRIM_LOCK_MS}', true)`;
      const [row] = await connection.run(statement, [other]);
      if (row?.['is_empty'] === true && this.#closedAt === before) this.#closedAt = null;
    } catch {
      // The journal is longer for a while; nothing depends on it.
    } finally {
      this.#isTrimming = false;
    }
  }
}

export async function append(
  run: LeaderConnection['run'],
  parts: JournalParts,
  term: Term,
  ttlMs: number,
  record: NewRecord,
  unproven: Batch | null,
): Promise<Instant> {
  const { commitNo, lastSeq, nextJobNo, eventCount, foldedNo, body } = record;
  const timeoutMultiplier = timeoutMultiplierFor(0, body.length);
  // From the beginning of the transaction: when a long one ends there must be some of it left.
  const untilMs = leaseMs(ttlMs, timeoutMultiplier);
  const fence = [
    term.shard,
    term.epoch,
    term.id,
    untilMs,
    commitNo,
    lastSeq,
    eventCount,
    nextJobNo,
  ];
  const [ids = null, keys = null] = NAMES.encode(unproven?.jobInserts ?? []);
  const part = parts.next(body.length, commitNo);
  const { statement, parameters: count } = appendStatement;
  const checks = unproven === null ? null : storedChecks(unproven, count + 1);
  const parameters = [...fence, ids, keys, part, foldedNo, body, ...(checks?.parameters ?? [])];
  const checked = checks === null ? statement : checkedAppend(checks.select);
  const [row = {}] = await run(checked, parameters, { timeoutMultiplier, term }).catch(
    (cause: unknown) => {
      throw writeFailure(cause, term, commitNo - 1);
    },
  );
  const offence = offenceIn(row);
  if (offence !== null) throw offence;
  return row['at'] as Instant;
}

/** By way of JSON, because tables that are about to be migrated down may lack the column. */
const STATE = `
  select l.shard, l.term, l.commit_no, l.last_seq, l.next_job_no, coalesce(f.commit_no, 0) as folded_no,
      coalesce((to_jsonb(f) ->> 'settled_no')::bigint, f.commit_no, 0) as settled_no
    from millrace.leader l left join millrace.journal_fold f on f.shard = l.shard`;

export async function journalState(run: Run, shard: number): Promise<JournalState> {
  const [row] = await run(`${STATE} where l.shard = $1`, [shard]);
  const head = {
    commitNo: (row?.['commit_no'] as number | undefined) ?? 0,
    lastSeq: (row?.['last_seq'] as number | undefined) ?? 0,
    nextJobNo: ((row?.['next_job_no'] as number | undefined) ?? 1) as JobNo,
  };
  const term = (row?.['term'] as TermId | undefined) ?? null;
  const foldedNo = (row?.['folded_no'] as number | undefined) ?? 0;
  return { term, head, foldedNo, settledNo: (row?.['settled_no'] as number | undefined) ?? 0 };
}

export async function shardsBehind(run: Run): Promise<readonly number[]> {
  const found = await run(`select s.shard from (${STATE}) s where s.commit_no <> s.settled_no`, []);
  return found.map((row) => row['shard'] as number);
}

/** What is read in one go, about; a single record may be larger. */
const BYTES_AT_ONCE = 16 * 1024 * 1024;

export async function journalOf(
  run: Run,
  shard: number,
  after: number,
  limit: number,
): Promise<readonly JournalRecord[]> {
  const found = await run(
    `select j.commit_no, j.term, j.body from (
       select j.*, sum(octet_length(j.body)) over (order by j.commit_no) - octet_length(j.body) as before
         from millrace.journal j where j.shard = $1 and j.commit_no > $2
        order by j.commit_no limit $3) j
      where j.before < $4 order by j.commit_no`,
    [shard, after, limit, BYTES_AT_ONCE],
  );
  return found.map((row) => ({
    commitNo: row['commit_no'] as number,
    term: row['term'] as TermId,
    body: row['body'] as string,
  }));
}

export async function storedJobs(
  run: Run,
  shard: number,
  numbers: readonly JobNo[],
): Promise<ReadonlySet<JobNo>> {
  if (numbers.length === 0) return new Set();
  // One by one: see `job-rows.ts`.
  const found = await run(
    `select j.no from unnest($2::bigint[]) u (no)
      cross join lateral (select x.no from millrace.job x where x.shard = $1 and x.no = u.no offset 0) j`,
    [shard, ...rows.numbers.encode(numbers)],
  );
  return new Set(found.map((row) => row['no'] as JobNo));
}
