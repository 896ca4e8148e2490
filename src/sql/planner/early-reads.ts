/**
 * What workers may fetch before the tasks that read it are ready: partitions of outputs that are committed, while other
 * producers of the same stages still run. A hint names one attempt for ever, so one that is lost, late or wrong costs
 * at most a fetch in vain.
 */
import { taskNo } from '../../scheduler/core/index.ts';
import type { JobId, Settings, TaskNo } from '../../scheduler/core/index.ts';
import type { EarlyRead, HeldFragment } from '../../scheduler/contract/index.ts';
import { LruCache } from '../../kit/index.ts';
import type { FragmentResult, PartitionRead, QueryPlan, Stage } from '../plan/index.ts';

export type EarlyReadSettings = Pick<Settings, 'earlyFetchPercent' | 'earlyFetchMinBytes'>;

/** Queries whose outputs are remembered. */
const QUERIES_MAX = 64;
/** Of one stage. The inputs of more would cost the leader as much as giving out the tasks does. */
const READS_MAX = 10_000;

/** A stage that reads partitions, and the stages that produce them. */
interface Reader {
  readonly stage: Stage;
  readonly producers: ReadonlySet<number>;
  /** Tasks of all its producers. */
  readonly total: number;
  /** Outputs whose partitions are known to those who will read them, by `stage.task/fence`. */
  readonly hinted: Set<string>;
}

interface Query {
  readonly readers: readonly Reader[];
  /** By `stage.task`: what a new attempt has made replaces the rest. */
  readonly outputs: Map<string, Output>;
}

interface Output {
  readonly stage: number;
  readonly key: string;
  readonly result: Pick<FragmentResult, 'at' | 'parts'>;
}

export class EarlyReads {
  readonly #settings: EarlyReadSettings;
  readonly #queries: LruCache<JobId, Query> = new LruCache({ max: QUERIES_MAX });

  constructor(settings: EarlyReadSettings) {
    this.#settings = settings;
  }

  /** The end of a fragment was committed, with this result. */
  committed(plan: QueryPlan, fragment: HeldFragment, text: string): readonly EarlyRead[] {
    if (this.#settings.earlyFetchPercent >= 100) return [];
    const { query: id, stage, task, fence } = fragment;
    let query = this.#queries.get(id);
    if (query === undefined) {
      query = { readers: readersIn(plan), outputs: new Map() };
      this.#queries.set(id, query);
    }
    const readers = query.readers.filter(({ producers }) => producers.has(stage));
    if (readers.length === 0) return [];
    const { at, parts } = JSON.parse(text) as FragmentResult;
    const name = `${stage}.${task}`;
    query.outputs.set(name, { stage, key: `${name}/${fence}`, result: { at, parts } });
    const { outputs } = query;
    return readers.flatMap((reader) => this.#ready(plan, id, reader, outputs));
  }

  /** What a stage may read now and was not hinted before. */
  #ready(
    plan: QueryPlan,
    query: JobId,
    reader: Reader,
    outputs: Query['outputs'],
  ): readonly EarlyRead[] {
    const { producers, total, hinted } = reader;
    const ended = [...outputs.values()].filter(({ stage }) => producers.has(stage));
    // When all have ended, the tasks themselves are ready.
    if (ended.length >= total || ended.length * 100 < total * this.#settings.earlyFetchPercent)
      return [];
    const fresh = ended.filter(({ key }) => !hinted.has(key));
    for (const { key } of fresh) hinted.add(key);
    const first = firstTask(plan, reader.stage);
    return fresh.flatMap(({ result }) => this.#readsOf(query, reader.stage, first, result));
  }

  #readsOf(
    query: JobId,
    { tasks }: Stage,
    first: number,
    { at, parts }: Output['result'],
  ): readonly EarlyRead[] {
    // Nobody can fetch it.
    if (at.address === null) return [];
    const reads: EarlyRead[] = [];
    for (const [partition, part] of parts.slice(0, tasks).entries()) {
      if (part.bytes < this.#settings.earlyFetchMinBytes || part.segments.length === 0) continue;
      const read: PartitionRead = { at, partition, part };
      const reader: TaskNo = taskNo(first + partition);
      reads.push({
        ...{ query, reader, nodeId: at.node, bytes: part.bytes },
        read: JSON.stringify(read),
      });
    }
    return reads;
  }
}

/** Stages of which it is known before the producers have ended that each task reads its own partition of them. */
function readersIn({ stages, joins = [] }: QueryPlan): readonly Reader[] {
  // What these read is decided when the size of one side is known.
  const undecided = new Set(joins.map(({ stage }) => stage));
  return stages.flatMap((stage) => {
    const inputs = stage.fragment.inputs.filter(({ mode }) => mode === 'partition');
    const producers = new Set(inputs.map((input) => input.stage));
    const total = [...producers].reduce((sum, id) => sum + (stages[id]?.tasks ?? 0), 0);
    if (producers.size === 0 || undecided.has(stage.id) || total * stage.tasks > READS_MAX)
      return [];
    return [{ stage, producers, total, hinted: new Set<string>() }];
  });
}

/** The first task of a query is its plan, which never runs. */
function firstTask({ stages }: QueryPlan, { id }: Stage): number {
  return stages.slice(0, id).reduce((sum, { tasks }) => sum + tasks, 1);
}
