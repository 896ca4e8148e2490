/** All that the checkers look at: what the store holds, what was committed when, who saw what. */
import type {
  EventRow,
  Instant,
  JobNo,
  JobRow,
  KeyRow,
  NodeRow,
  ResultRow,
  Settings,
  SignalRow,
  StepRow,
  TaskRow,
  TaskSpecRow,
} from '../../../src/scheduler/core/index.ts';
import type { Dumped, InboxRow, Store } from '../../../src/scheduler/store/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';
import type { Findings } from '../findings.ts';
import type { Journal } from '../journal.ts';
import type { Witness } from '../witness.ts';
import { replay } from './replay.ts';
import type { Replay } from './replay.ts';

export interface Tables {
  readonly jobs: ReadonlyMap<JobNo, JobRow>;
  readonly specs: ReadonlyMap<string, TaskSpecRow>;
  readonly tasks: ReadonlyMap<string, TaskRow>;
  readonly history: readonly TaskRow[];
  /** By job, task and run. */
  readonly results: ReadonlyMap<string, ResultRow>;
  readonly steps: readonly StepRow[];
  readonly signals: readonly SignalRow[];
  readonly keys: readonly KeyRow[];
  readonly events: readonly EventRow[];
  readonly nodes: readonly NodeRow[];
  readonly inbox: readonly InboxRow[];
  readonly lastSeq: number;
}

export interface Evidence {
  readonly tables: Tables;
  readonly journal: Journal;
  readonly witness: Witness;
  readonly replay: Replay;
  readonly findings: Findings;
  /** How many leases each node may hold. */
  readonly slots: ReadonlyMap<string, number>;
  /** How far the log's times may go back: clocks run up to a percent apart between two commits. */
  readonly driftMs: number;
  readonly settings: Settings;
  /** When all faults were over; null when it did not come to that. */
  readonly healedAt: Instant | null;
}

/** What the store alone can tell, for whoever has nothing else. */
export type StoredEvidence = Pick<Evidence, 'tables' | 'replay' | 'findings'>;

export async function gather(
  store: Store,
  rest: Omit<Evidence, 'tables' | 'replay'>,
): Promise<Evidence> {
  const tables = await readTables(store);
  return { ...rest, tables, replay: replay(rest.journal.commits) };
}

type RowOf<T extends Dumped['table']> = Extract<Dumped, { readonly table: T }>['row'];

export async function readTables(store: Store): Promise<Tables> {
  const rows: Dumped[] = [];
  for await (const row of store.dump()) rows.push(row);
  const of = <T extends Dumped['table']>(table: T): RowOf<T>[] =>
    rows.flatMap((each) => (each.table === table ? [each.row as RowOf<T>] : []));
  return {
    jobs: new Map(of('job').map((row) => [row.no, row])),
    specs: new Map(of('spec').map((row) => [refKey(row.jobNo, row.taskNo), row])),
    tasks: new Map(of('task').map((row) => [refKey(row.jobNo, row.taskNo), row])),
    history: of('history'),
    results: new Map(of('result').map((row) => [`${row.jobNo}/${row.taskNo}/${row.run}`, row])),
    steps: of('step'),
    signals: of('signal'),
    keys: of('key'),
    events: of('event'),
    nodes: of('node'),
    inbox: of('inbox'),
    lastSeq: of('counters')[0]?.lastSeq ?? 0,
  };
}
