/**
 * Rows of a commit against those in the tables, before it comes into the journal: a fold must have nothing to refuse. They
 * are looked up by the statement that appends, which appends nothing when one of them is in the way. The names of new jobs
 * are looked up by its function (migration 0020, which also says what `shard + 0` is for).
 */
import { type Batch, type MillraceError, type TaskRef } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import type { Values } from './codec.ts';
import type { Parameters } from './connection.ts';
import * as rows from './rows.ts';

/** The first row that is in the way, as `offence` and `bad`. */
export interface StoredChecks {
  readonly select: string;
  readonly parameters: Parameters;
}

/**
 * Nothing is asked where a list is empty; null when all are. The batch has only what the commits in the journal say nothing
 * about.
 *
 * @param at the number of the first parameter; `$1` is the shard.
 */
export function storedChecks(batch: Batch, at: number): StoredChecks | null {
  const checks = CHECKS.filter(({ refs }) => refs(batch).length > 0);
  if (checks.length === 0) return null;
  const parameters: (string | number | null)[] = [];
  const selects = checks.map((check) => {
    const select = check.select(at + parameters.length);
    parameters.push(...check.parameters(batch));
    return `(select ${CHECKS.indexOf(check)} as offence, bad from (${select}) c)`;
  });
  return { select: `${selects.join(' union all ')} limit 1`, parameters };
}

/** What such a row means. */
export function offenceIn({ offence, bad }: Values): MillraceError | null {
  const check = typeof offence === 'number' ? CHECKS[offence] : undefined;
  return check === undefined ? null : badRow(`${check.what} ${String(bad)}`, check.why);
}

/** Some rows by number or name, and a query for the first one that is in the way. */
interface Check {
  readonly what: string;
  readonly why: string;
  readonly refs: (batch: Batch) => readonly unknown[];
  readonly parameters: (batch: Batch) => Parameters;
  /** Answers the offender as text, under the name `bad`. `$1` is the shard, the check's own parameters begin at `at`. */
  readonly select: (at: number) => string;
}

const jobsOf = ({ jobUpdates, specInserts, signalInserts }: Batch): readonly number[] => [
  ...jobUpdates.map(({ no }) => no),
  ...[...specInserts, ...signalInserts].map(({ jobNo }) => jobNo),
];
const tasksOf = ({ taskUpdates, archived, steps, results }: Batch): readonly TaskRef[] => [
  ...taskUpdates,
  ...archived,
  ...steps,
  ...results,
];

const tasks = (at: number): string =>
  `unnest($${at}::bigint[], $${at + 1}::integer[]) as u(job_no, task_no)`;
/** Looked up for each row, in a subquery with a limit: the planner may not begin with the table. */
const SAME_TASK = 't.shard = $1 and t.job_no = u.job_no and t.task_no = u.task_no';

const CHECKS: readonly Check[] = [
  {
    what: 'a row of job',
    why: 'there is no such job',
    refs: jobsOf,
    parameters: (batch) => rows.numbers.encode(jobsOf(batch)),
    select: (at) => `select u.no::text as bad from unnest($${at}::bigint[]) as u(no)
      where not exists (select from millrace.job j where j.shard = $1 and j.no = u.no) limit 1`,
  },
  {
    what: 'a row of task',
    why: 'there is no such task',
    refs: tasksOf,
    parameters: (batch) => rows.refs.encode(tasksOf(batch)),
    select: (at) => `select u.job_no || '/' || u.task_no as bad from ${tasks(at)}
      where not exists (select from millrace.any_task t where ${SAME_TASK} offset 0) limit 1`,
  },
  {
    what: 'the history of task',
    why: 'this run is there',
    refs: ({ archived }) => archived,
    parameters: ({ archived }) => rows.refs.encode(archived),
    select: (at) => `select u.job_no || '/' || u.task_no as bad from ${tasks(at)}
      cross join lateral (
        select t.run from millrace.any_task t where ${SAME_TASK} limit 1) now
      cross join lateral (
        select from millrace.task_history t where ${SAME_TASK} and t.run = now.run limit 1) found
      limit 1`,
  },
  {
    what: 'task',
    why: 'its number or id is taken',
    refs: ({ specInserts }) => specInserts,
    parameters: ({ specInserts }) => rows.specs.only('job_no', 'task_no', 'id').encode(specInserts),
    select: (at) => `select u.job_no || '/' || u.task_no as bad
      from unnest($${at}::bigint[], $${at + 1}::integer[], $${at + 2}::text[]) as u(job_no, task_no, id)
      where exists (select from millrace.any_spec t where ${SAME_TASK} offset 0)
         or exists (select from millrace.task_spec t where t.id = u.id and t.job_no = u.job_no and t.shard + 0 = $1)
         or exists (select from millrace.job j where j.shard = $1 and j.no = u.job_no and j.task_id = u.id)
      limit 1`,
  },
  {
    what: 'the result of task',
    why: 'this run has one',
    refs: ({ results }) => results,
    parameters: ({ results }) => rows.results.only('job_no', 'task_no', 'run').encode(results),
    select: (at) => `select u.job_no || '/' || u.task_no as bad
      from unnest($${at}::bigint[], $${at + 1}::integer[], $${at + 2}::integer[]) as u(job_no, task_no, run)
      cross join lateral (
        select from millrace.any_result t where ${SAME_TASK} and t.run = u.run limit 1) found
      limit 1`,
  },
  {
    what: 'the copy of key',
    why: 'it is not completed',
    refs: ({ copiedResults }) => copiedResults,
    parameters: ({ copiedResults }) => rows.scopes.encode(copiedResults.map(({ scope }) => scope)),
    select: (at) => `select u.scope as bad from unnest($${at}::text[]) as u(scope)
      where not exists (select from millrace.idempotency k
        where k.shard = $1 and k.scope = u.scope and k.state = 'completed') limit 1`,
  },
  {
    what: 'signal',
    why: 'its number or id is taken',
    refs: ({ signalInserts }) => signalInserts,
    parameters: ({ signalInserts }) =>
      rows.signals.only('job_no', 'no', 'id').encode(signalInserts),
    select: (at) => `select u.job_no || '/' || u.no as bad
      from unnest($${at}::bigint[], $${at + 1}::integer[], $${at + 2}::text[]) as u(job_no, no, id)
      where exists (select from millrace.signal s where s.shard = $1 and s.job_no = u.job_no and s.no = u.no)
         or exists (select from millrace.signal s where s.id = u.id and s.job_no = u.job_no and s.shard + 0 = $1)
      limit 1`,
  },
  {
    what: 'signal',
    why: 'there is none, or it was taken already',
    refs: ({ takenSignals }) => takenSignals,
    parameters: ({ takenSignals }) =>
      rows.takenSignals.only('job_no', 'signal_no').encode(takenSignals),
    select: (at) => `select u.job_no || '/' || u.no as bad
      from unnest($${at}::bigint[], $${at + 1}::integer[]) as u(job_no, no)
      where not exists (select from millrace.signal s
        where s.shard = $1 and s.job_no = u.job_no and s.no = u.no and not s.taken) limit 1`,
  },
];
