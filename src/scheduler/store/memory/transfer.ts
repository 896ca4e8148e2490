/** Moves data: all rows of a shard in the port's order, and shards built from such rows. */
import type { TaskRow } from '../../core/index.ts';
import { checkDumped } from '../dump-checks.ts';
import { badRow } from '../row-checks.ts';
import type { Dumped } from '../store.ts';
import { Changes } from './changes.ts';
import { recordsOf, signalsOf } from './images.ts';
import { emptyShard, type Shard } from './shard.ts';

export function* dumpShard(shard: Shard): Generator<Dumped> {
  const { no, lastSeq, nextJobNo } = shard;
  yield { table: 'counters', row: { shard: no, lastSeq, nextJobNo } };
  const jobs = [...shard.jobs.values()].toSorted((a, b) => a.row.no - b.row.no);
  const records = jobs.flatMap(recordsOf);
  for (const job of jobs) yield { table: 'job', row: job.row };
  for (const { spec } of records) yield { table: 'spec', row: spec };
  for (const { task } of records) if (task !== null) yield { table: 'task', row: task };
  for (const { history } of records) {
    for (const row of history ?? []) yield { table: 'history', row };
  }
  for (const { spec, results } of records) {
    const { jobNo, taskNo } = spec;
    for (const [run, body] of results ?? []) {
      yield { table: 'result', row: { jobNo, taskNo, run, body } };
    }
  }
  for (const { spec, steps } of records) {
    const { jobNo, taskNo } = spec;
    for (const [run, named] of steps ?? []) {
      for (const [name, body] of named) {
        yield { table: 'step', row: { jobNo, taskNo, run, name, body } };
      }
    }
  }
  for (const job of jobs) for (const row of signalsOf(job)) yield { table: 'signal', row };
  for (const row of shard.keys.values()) yield { table: 'key', row };
  for (const row of shard.nodes.values()) yield { table: 'node', row };
  for (const row of shard.schedules.values()) yield { table: 'schedule', row };
  for (const row of shard.limits.values()) yield { table: 'limit', row };
  for (const table of ['operator', 'flow'] as const)
    for (const row of shard.declarations[table].values()) yield { table, row };
  for (const row of shard.inbox.values()) yield { table: 'inbox', row };
  for (const row of shard.events) yield { table: 'event', row };
}

/** Takes rows in the order of a dump; its shards are not visible until it is done. */
export class Filling {
  readonly shards: Map<number, Shard> = new Map();
  rows = 0;
  #shard: Shard | null = null;

  take(item: Dumped): void {
    this.rows += 1;
    checkDumped(item);
    if (item.table === 'counters') {
      this.#open(item.row);
      return;
    }
    if (this.#shard === null) throw badRow(`a row of ${item.table}`, 'no counters came before it');
    put(this.#shard, item);
  }

  /** To be called after the last row: counts what only the whole can show. */
  finish(): void {
    for (const shard of this.shards.values()) checkWhole(shard);
  }

  #open(row: Extract<Dumped, { table: 'counters' }>['row']): void {
    if (this.shards.has(row.shard)) throw badRow(`shard ${row.shard}`, 'it came twice');
    const shard = emptyShard(row.shard);
    shard.lastSeq = row.lastSeq;
    shard.nextJobNo = row.nextJobNo;
    this.#shard = shard;
    this.shards.set(row.shard, shard);
  }
}

function put(shard: Shard, item: Exclude<Dumped, { table: 'counters' }>): void {
  const changes = new Changes(shard);
  switch (item.table) {
    case 'job':
      return changes.insertJob(item.row);
    case 'spec':
      return changes.insertSpec(item.row);
    case 'task':
      return changes.insertTask(item.row);
    case 'history':
      return putHistory(shard, item.row);
    case 'result': {
      const { jobNo, taskNo, run, body } = item.row;
      return changes.insertResult(jobNo, taskNo, run, body);
    }
    case 'step':
      return changes.insertStep(item.row);
    case 'signal':
      return changes.insertSignal(item.row);
    case 'key':
      return putNew(shard.keys, item.row.scope, item.row);
    case 'node':
      return putNew(shard.nodes, item.row.id, item.row);
    case 'schedule':
      return putNew(shard.schedules, item.row.id, item.row);
    case 'limit':
      return putNew(shard.limits, item.row.id, item.row);
    case 'operator':
    case 'flow':
      return putNew(shard.declarations[item.table], item.row.id, item.row);
    case 'inbox':
      return putNew(shard.inbox, item.row.no, item.row);
    case 'event':
      shard.events.push(item.row);
      return;
  }
}

function putNew<K, V>(map: Map<K, V>, key: K, row: V): void {
  if (map.has(key)) throw badRow(`row ${String(key)}`, 'it came twice');
  map.set(key, row);
}

function putHistory(shard: Shard, row: TaskRow): void {
  const record = shard.jobs.get(row.jobNo)?.tasks.get(row.taskNo);
  const name = `the history of task ${row.jobNo}/${row.taskNo}`;
  if (record === undefined) throw badRow(name, 'there is no such task');
  const history = (record.history ??= []);
  if (history.some((old) => old.run === row.run)) throw badRow(name, `run ${row.run} came twice`);
  history.push(row);
}

function checkWhole(shard: Shard): void {
  const first = shard.events[0]?.seq ?? shard.lastSeq + 1;
  for (const [at, event] of shard.events.entries()) {
    if (event.seq !== first + at) throw badRow(`event ${event.seq}`, 'there is a gap before it');
  }
  if (first + shard.events.length - 1 !== shard.lastSeq) {
    throw badRow(`shard ${shard.no}`, `its events do not end at lastSeq ${shard.lastSeq}`);
  }
  for (const [no, job] of shard.jobs) {
    if (no >= shard.nextJobNo) throw badRow(`job ${no}`, `nextJobNo is ${shard.nextJobNo}`);
    for (const record of job.tasks.values()) {
      const { jobNo, taskNo } = record.spec;
      if (record.task === null) throw badRow(`task ${jobNo}/${taskNo}`, 'there is only its spec');
    }
  }
}
