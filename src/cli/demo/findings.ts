/** The claims of the demo, each checked against what was observed. */
import type { DatedJob } from '../../client/index.ts';
import type { EventShape, QueryShape } from '../../scheduler/contract/index.ts';
import { counted } from '../wording.ts';
import { type Fulfilled, ORDER, type Report } from './flow.ts';
import type { Deeds } from './shop.ts';

export interface Evidence {
  readonly job: DatedJob;
  /** All of the job. */
  readonly events: readonly EventShape[];
  /** Null if no worker reached the point where it would have been killed. */
  readonly kill: Kill | null;
  readonly deeds: Deeds;
  /** The result of one query over all files. Null if not all of them exist. */
  readonly expected: Report | null;
  readonly files: number;
  /** The SQL of the job; null when it never came to it. */
  readonly query: QueryShape | null;
}

export interface Kill {
  readonly worker: string;
  readonly pid: number;
  /** The signal, or an exit code. */
  readonly endedBy: string | number;
  /** Tasks that it was working on. */
  readonly held: readonly string[];
  readonly recovery: Recovery | null;
}

/** Another process has come to the point where the killed one was. */
export interface Recovery {
  readonly worker: string;
  readonly pid: number;
  readonly ms: number;
}

export interface Finding {
  readonly name: Claim;
  readonly isSo: boolean;
  /** The claim, with what was seen. */
  readonly text: string;
}

type Claim =
  | 'allSucceeded'
  | 'eachCompletedOnce'
  | 'workerKilled'
  | 'recoveredElsewhere'
  | 'finishedStepNotRepeated'
  | 'laterStepDoneOnce'
  | 'queryDivided'
  | 'answerRight';

type Judgement = readonly [isSo: boolean, text: string];

const CLAIMS: Readonly<Record<Claim, (evidence: Evidence) => Judgement>> = {
  allSucceeded({ job: { tasks } }) {
    const succeeded = tasks.filter(({ state }) => state === 'succeeded').length;
    const isSo = succeeded === tasks.length && tasks.length > 0;
    return [isSo, `${succeeded} of ${counted(tasks.length, 'task')} succeeded`];
  },
  eachCompletedOnce({ job: { tasks }, events }) {
    const completed = events.flatMap(({ kind, task }) => (kind === 'completed' ? [task] : []));
    const isSo = completed.length === tasks.length && new Set(completed).size === tasks.length;
    return [isSo, `each was completed once: ${counted(completed.length, 'completion')} in the log`];
  },
  workerKilled({ kill }) {
    if (kill === null) return [false, 'no worker has been killed'];
    const { worker, pid, endedBy, held } = kill;
    const isSo = endedBy === 'SIGKILL' && held.includes(ORDER);
    return [
      isSo,
      `${worker} (process ${pid}) was ended by ${endedBy} while it held ${held.join(', ')}`,
    ];
  },
  recoveredElsewhere({ kill, events }) {
    if (kill === null || kill.recovery === null) return [false, 'no worker took over'];
    const { worker, pid, ms } = kill.recovery;
    const took = events.filter(({ kind, task }) => kind === 'reassigned' && task === ORDER);
    const end = events.find(({ kind, task }) => kind === 'completed' && task === ORDER);
    const isSo = pid !== kill.pid && took.length > 0 && end?.node === worker;
    return [isSo, `${worker} had resumed ${ORDER} ${ms} ms after the kill, and completed it`];
  },
  finishedStepNotRepeated({ job, deeds: { charges } }) {
    const isSo = charges.length === 1 && resultOf(job)?.order.receipt === charges[0];
    return [
      isSo,
      `the order was charged ${times(charges.length)}: a completed step does not run again`,
    ];
  },
  laterStepDoneOnce({ job, deeds: { parcels } }) {
    const isSo = parcels.length === 1 && resultOf(job)?.order.parcel === parcels[0];
    return [isSo, `it was shipped ${times(parcels.length)}`];
  },
  queryDivided({ query }) {
    if (query === null) return [false, 'no query was run'];
    const { stages, single, state } = query;
    const tasks = stages.reduce((sum, stage) => sum + stage.tasks.total, 0);
    const rows = stages.reduce((sum, stage) => sum + stage.rowsIn, 0);
    const isSo = state === 'succeeded' && single === null && stages.length > 1 && tasks > 2;
    const read = `the SQL ran as ${counted(stages.length, 'stage')} with ${counted(tasks, 'task')}`;
    return [isSo, `${read} on the workers, which read ${rows.toLocaleString('en')} rows in total`];
  },
  answerRight({ job, expected, files }) {
    const report = resultOf(job)?.report;
    if (report === undefined || expected === null) return [false, 'the query returned no result'];
    const isSo = JSON.stringify(report) === JSON.stringify(expected);
    const query = isSo ? 'as in' : `but ${words(expected)} in`;
    return [isSo, `${words(report)}, ${query} one DuckDB query over all ${files} files`];
  },
};

export function findingsOf(evidence: Evidence): Finding[] {
  return Object.entries(CLAIMS).map(([name, judge]) => {
    const [isSo, text] = judge(evidence);
    return { name: name as Claim, isSo, text };
  });
}

/** Null for a job that did not succeed. */
function resultOf({
  result,
}: DatedJob): { readonly report: Report; readonly order: Fulfilled } | null {
  return result as unknown as { readonly report: Report; readonly order: Fulfilled } | null;
}

function times(count: number): string {
  return count === 1 ? 'once' : counted(count, 'time');
}

function words({ sales, euroCents }: Report): string {
  const euros = (euroCents / 100).toLocaleString('en', { minimumFractionDigits: 2 });
  return `${sales.toLocaleString('en')} sales worth ${euros} EUR`;
}
