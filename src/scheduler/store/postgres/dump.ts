/** Everything, shard by shard and table by table, as it was at one moment. */
import type { JobNo } from '../../core/index.ts';
import { eventsIn } from '../event-chunk.ts';
import type { Dumped } from '../store.ts';
import type { Codec, Values } from './codec.ts';
import type { Run } from './connection.ts';
import * as rows from './rows.ts';

const ROWS_AT_ONCE = 1_000;
const CHUNKS_AT_ONCE = 20;

type Name = Exclude<Dumped['table'], 'counters' | 'event'>;
type RowOf<T extends Name> = Extract<Dumped, { readonly table: T }>['row'];

export interface Table<T extends Name = Name> {
  readonly sqlName: string;
  /** Where it is read, when some of its rows are in other tables. */
  readonly view?: string;
  readonly codec: Codec<RowOf<T>>;
  /** Where two dumps of the same rows agree. */
  readonly order: string;
  /** Belongs to a job by `job_no`: what is left of a pruned job is not there any more. */
  readonly ofJob?: true;
}

/** In the order of the port, which is also one in which rows can be put back. Events come last. */
export const TABLES: { readonly [T in Name]: Table<T> } = {
  job: { sqlName: 'job', codec: rows.jobs, order: 'no' },
  spec: {
    sqlName: 'task_spec',
    view: 'any_spec',
    codec: rows.specs,
    order: 'job_no, task_no',
    ofJob: true,
  },
  task: {
    sqlName: 'task',
    view: 'any_task',
    codec: rows.tasks,
    order: 'job_no, task_no',
    ofJob: true,
  },
  history: {
    sqlName: 'task_history',
    codec: rows.tasks,
    order: 'job_no, task_no, run',
    ofJob: true,
  },
  result: {
    sqlName: 'task_result',
    view: 'any_result',
    codec: rows.results,
    order: 'job_no, task_no, run',
    ofJob: true,
  },
  step: {
    sqlName: 'task_step',
    codec: rows.steps,
    order: 'job_no, task_no, run, name',
    ofJob: true,
  },
  signal: { sqlName: 'signal', codec: rows.signals, order: 'job_no, no', ofJob: true },
  key: { sqlName: 'idempotency', codec: rows.keys, order: 'scope' },
  node: { sqlName: 'node', codec: rows.nodes, order: 'id' },
  schedule: { sqlName: 'schedule', codec: rows.schedules, order: 'id' },
  limit: { sqlName: 'limit_state', codec: rows.limits, order: 'id' },
  operator: { sqlName: 'operator', codec: rows.declarations, order: 'id' },
  flow: { sqlName: 'flow', codec: rows.declarations, order: 'id' },
  inbox: { sqlName: 'inbox', codec: rows.inbox, order: 'no' },
};

export async function* dumpAll(run: Run): AsyncIterable<Dumped> {
  const shards = await run(
    `select shard, last_seq, next_job_no, first_seq from millrace.leader
     union select shard, 0, 1, 1 from millrace.inbox i
       where not exists (select from millrace.leader l where l.shard = i.shard)
     order by shard`,
    [],
  );
  for (const row of shards) {
    const shard = row['shard'] as number;
    const nextJobNo = row['next_job_no'] as JobNo;
    yield { table: 'counters', row: { shard, lastSeq: row['last_seq'] as number, nextJobNo } };
    for (const name of Object.keys(TABLES) as Name[]) yield* dumpTable(run, name, shard);
    yield* dumpEvents(run, shard, row['first_seq'] as number);
  }
}

async function* dumpTable(run: Run, table: Name, shard: number): AsyncIterable<Dumped> {
  const {
    sqlName,
    view = sqlName,
    codec,
    order,
    ofJob,
  } = TABLES[table] as Table & { codec: Codec<unknown> };
  const kept =
    ofJob === undefined
      ? ''
      : 'and not exists (select from millrace.pruned_job p where p.shard = x.shard and p.no = x.job_no)';
  const portions = inPortions(
    run,
    `select ${codec.read('x')} from millrace.${view} x
      where x.shard = ${shard} ${kept} order by ${order}`,
    ROWS_AT_ONCE,
  );
  for await (const values of portions) yield { table, row: codec.decode(values) } as Dumped;
}

async function* dumpEvents(run: Run, shard: number, firstSeq: number): AsyncIterable<Dumped> {
  const portions = inPortions(
    run,
    `select ${rows.chunks.read('x')} from millrace.event_chunk x
      where x.shard = ${shard} and x.last_seq >= ${firstSeq} order by x.last_seq`,
    CHUNKS_AT_ONCE,
  );
  for await (const values of portions) {
    for (const row of eventsIn(rows.chunks.decode(values))) {
      if (row.seq >= firstSeq) yield { table: 'event', row };
    }
  }
}

/** Without parameters: a cursor is declared without them. */
async function* inPortions(run: Run, select: string, size: number): AsyncIterable<Values> {
  await run(`declare dumped no scroll cursor for ${select}`, []);
  for (;;) {
    const found: readonly Values[] = await run(`fetch ${size} from dumped`, []);
    yield* found;
    if (found.length < size) break;
  }
  await run('close dumped', []);
}
