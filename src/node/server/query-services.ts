/**
 * SQL on a server node: planning where it leads, looking and reading rows wherever there is a database. DuckDB
 * runs in child processes, which are started when they are needed and end with the node.
 */
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { Catalog, CatalogFile, allowedPaths } from '../../sql/catalog/index.ts';
import type { WithoutRoots } from '../../sql/catalog/index.ts';
import type { Config } from '../config/index.ts';
import type { LeaderGateway, QueryPlanner } from '../../scheduler/coordinator/index.ts';
import { taskNo } from '../../scheduler/core/index.ts';
import type { Explanation, JobId, NamedBatch, TaskId } from '../../scheduler/core/index.ts';
import { startPlanningEngine, startRowEngine } from '../../sql/engine/index.ts';
import type { EngineLimits, PlanningEngine, RowEngine } from '../../sql/engine/index.ts';
import type { Clock } from '../../kit/index.ts';
import { ShuffleChannel } from '../../edge/grpc/index.ts';
import type {
  QueryAnalysis,
  QueryService,
  QueryShape,
  ResultRegistry,
  ShuffleSource,
} from '../../scheduler/contract/index.ts';
import { FragmentOutputs, QueryResults, ResultSpool, SqlPlanner } from '../../sql/planner/index.ts';
import { registeredFigures } from '../../sql/planner/index.ts';
import { FRAGMENT_EXECUTOR, decide, explainAnalyze } from '../../sql/plan/index.ts';
import type { QueryRecord } from '../../sql/plan/index.ts';
import { isLoopback } from '../../edge/security/index.ts';
import type { Access } from '../../edge/security/index.ts';
import { PartitionReader } from '../../sql/shuffle/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { JobWaits, QueryViews } from '../../edge/read/index.ts';
import type { NodeCredentials } from './credentials.ts';
import { QueryFolder } from './query-folder.ts';

export interface QuerySideOptions {
  readonly config: Config;
  readonly store: Store;
  readonly gateway: LeaderGateway;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  readonly say: (line: string) => void;
  readonly onFault: (error: unknown) => void;
}

const GIB = 2 ** 30;
const WARM_MS = 2_000;

interface Parts {
  readonly catalog: Catalog;
  readonly folder: QueryFolder;
  readonly planning: PlanningEngine;
  readonly rows: RowEngine;
  readonly channel: ShuffleChannel;
  readonly planner: SqlPlanner;
  readonly views: QueryViews;
  readonly waits: JobWaits;
  readonly results: QueryResults;
  readonly outputs: FragmentOutputs;
  readonly here: Here;
}

export class QueryServices {
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #cleanUpMs: number;
  #cancelWarm: () => void = () => {};
  #cancelTidy: () => void = () => {};
  readonly service: QueryService;
  /** Where workers register the outputs of stages. */
  readonly shuffle: ShuffleSource;
  /** Where they send the rows of results. */
  readonly registry: ResultRegistry;

  /** Throws when the catalog or a root cannot be used. */
  static async open(options: QuerySideOptions): Promise<QueryServices> {
    const { config, say } = options;
    const { roots, catalog, host, data, spillFolder = data } = config.node;
    const without = withoutRoots(options.credentials.access, host);
    const allowed = await allowedPaths(roots, without);
    const isDefault = typeof allowed === 'object' && allowed.isDefault;
    const file = catalog === undefined ? null : await CatalogFile.open(catalog, say);
    const folder = new QueryFolder(spillFolder);
    await folder.sweep();
    const planning = startPlanningEngine(planningLimits(folder.path, config.node.planMemoryBytes));
    const tables = new Catalog({
      allowed,
      // Its author may start the server with any root.
      allowedByFile: isDefault ? 'named' : allowed,
      file,
      folder: process.cwd(),
      describe: (source, signal) => planning.describe(source, signal),
    });
    return new QueryServices(options, partsOf(options, folder, planning, tables));
  }

  private constructor(options: QuerySideOptions, parts: Parts) {
    this.#parts = parts;
    this.#clock = options.clock;
    this.#cleanUpMs = options.config.node.cleanUpMs;
    const { views: reader, results, waits, planner, outputs } = parts;
    this.service = {
      reader,
      ended: (id, ms, signal) => waits.ended(id, ms, signal),
      explain: (request, signal, caller) => planner.explain(request, signal, caller),
      tables: () => parts.catalog.names(undefined),
      analysis: (id) => analysisOf(reader, id),
      results: (id, format, signal) => results.open(id, format, signal),
      inlineRows: (id) => results.inlineRows(id),
      state: async (id) => (await reader.record(id))?.state ?? null,
      figures: () => ({ ...planner.figures(), ...results.figures() }),
    };
    this.shuffle = outputs;
    this.registry = outputs.rows;
    this.#tidyLater();
  }

  get planner(): QueryPlanner {
    const { planner, views, outputs } = this.#parts;
    return {
      fragments: outputs,
      plan: (request, signal, caller) => planner.plan(request, signal, caller),
      decide,
      submitted: (id, seeds) => {
        const plan = seeds.get(taskNo(0))?.result ?? null;
        if (plan !== null) views.tell(id, plan);
      },
    };
  }

  /** The leader in this process has committed these. */
  readonly committed = (rows: NamedBatch): void => {
    const { views, waits } = this.#parts;
    // Whoever waits looks at once.
    views.committed(rows);
    waits.committed(rows);
  };

  /** See `JobWaits.whenEnded`. */
  readonly whenEnded: JobWaits['whenEnded'] = (id, tell) => this.#parts.waits.whenEnded(id, tell);

  /** This node leads: the first query should not wait for a process to start. One that leads for a moment
   * only, for one program, is spared it. */
  warm(): void {
    const { planning } = this.#parts;
    this.#cancelWarm();
    // The next caller gets the error.
    this.#cancelWarm = this.#clock.after(WARM_MS, () => void planning.warm().catch(() => {}));
  }

  /** Where other nodes reach this one. */
  listensAt(address: string): void {
    this.#parts.here.address = address;
  }

  #tidyLater(): void {
    this.#cancelTidy = this.#clock.after(this.#cleanUpMs, () => {
      // Failed look-ups are repeated the next time.
      void this.#parts.outputs.tidy().catch(() => {});
      this.#tidyLater();
    });
  }

  async close(): Promise<void> {
    this.#cancelWarm();
    this.#cancelTidy();
    const { planning, rows, channel, folder } = this.#parts;
    channel.close();
    await Promise.all([planning.close(), rows.close()]);
    await folder.remove();
  }
}

function partsOf(
  options: QuerySideOptions,
  folder: QueryFolder,
  planning: PlanningEngine,
  catalog: Catalog,
): Parts {
  const { config, store, gateway, clock, credentials, onFault } = options;
  const { core, node } = config;
  const rowFolder = join(folder.path, 'rows');
  const rows = startRowEngine(rowLimits(folder.path));
  const channel = new ShuffleChannel(credentials.fetching);
  const here: Here = { address: null };
  const views = new QueryViews({
    ...{ store, clock, resultTtlMs: core.resultTtlMs },
    retentionMs: Math.min(core.queryRetentionMs, core.jobRetentionMs),
    waiting: (id, task) => waitingOf(gateway, id, task),
    isOver: (id) => gateway.isOpen && !gateway.leader().isLive(id),
    registered: (id) => registeredFigures(outputs.of(id)),
  });
  const outputs = new FragmentOutputs({
    plan: (id) => views.plan(id),
    held: (session, key) => gateway.leader().workers.heldFragment(session, key),
    committed: (id, task) => views.output(id, task),
    isOver: async (id) => isOver(await views.record(id)),
    spool: new ResultSpool({ folder: join(folder.path, 'results') }),
    channel,
    address: () => here.address,
    settings: core,
  });
  const planner = new SqlPlanner({
    catalog,
    engine: planning,
    settings: core,
    clock,
    planMs: node.planTimeoutMs,
    onFault,
    slots: () => slotsOf(gateway),
    processorsOfOne: () => gateway.leader().workers.processorsOfOne(FRAGMENT_EXECUTOR),
    custom: { declared: () => gateway.leader().operators.list, engine: planning },
  });
  const waits = new JobWaits({
    store,
    clock,
    leader: () => (gateway.isOpen ? gateway.leader() : null),
  });
  const results = new QueryResults({
    record: (id) => views.record(id),
    analysis: async (id) => (await analysisOf(views, id))?.text ?? null,
    parts: new PartitionReader({
      own: null,
      mayReadInPlace: !node.shuffleByNetwork,
      channel,
      clock,
    }),
    rows,
    folder: rowFolder,
  });
  return {
    ...{ catalog, folder, planning, rows, channel, planner },
    ...{ views, waits, results, outputs, here },
  };
}

/** Where this node listens, once it does. */
interface Here {
  address: string | null;
}

/** Whether its rows will not be read any more. */
function isOver(record: QueryRecord | null): boolean {
  if (record === null || record.state === 'failed' || record.state === 'cancelled') return true;
  return record.expiresAt !== null && record.now >= record.expiresAt;
}

async function analysisOf(views: QueryViews, id: JobId): Promise<QueryAnalysis | null> {
  const [{ value }, record] = await Promise.all([views.query(id), views.record(id)]);
  if (value === null || record === null) return null;
  const stages = record.plan.stages.map(({ id: stage, operators, nonDeterministic, requires }) => ({
    id: stage,
    operators,
    nonDeterministic,
    requires,
  }));
  return { text: explainAnalyze(record.plan, value.stages), stages };
}

/** A caller with the access of the server's own user could read the file directly. */
function withoutRoots({ scope }: Access, host: string): WithoutRoots {
  if (scope === 'own user') return 'named';
  return isLoopback(host) ? { folder: process.cwd() } : 'nothing';
}

function planningLimits(folder: string, memoryBytes: number | undefined): EngineLimits {
  return {
    memoryBytes: memoryBytes ?? Math.min(GIB, Math.floor(totalmem() / 8)),
    threads: Math.min(4, availableParallelism()),
    spillFolder: join(folder, 'planning'),
    spillBytesMax: GIB,
  };
}

function rowLimits(folder: string): EngineLimits {
  return {
    memoryBytes: Math.min(GIB, Math.floor(totalmem() / 8)),
    // Each reader has a thread of its own. With another one between them none is quicker, and each costs more.
    threads: 1,
    spillFolder: join(folder, 'reading'),
    spillBytesMax: 64 * GIB,
  };
}

/** Fragments that the living workers can run at once. Only the leader plans, and it has them in memory. */
function slotsOf(gateway: LeaderGateway): number {
  return gateway.leader().workers.slotsFor(FRAGMENT_EXECUTOR);
}

/** Only the leader knows. A term that ends meanwhile takes the reason away, not the query. */
async function waitingOf(
  gateway: LeaderGateway,
  id: JobId,
  task: TaskId,
): Promise<QueryShape['waiting']> {
  if (!gateway.isOpen) return null;
  const found = await gateway
    .leader()
    .jobs.explain(id, task)
    .catch(() => null);
  if (found === null) return null;
  if (found.code === 'admission') return { position: found.position ?? 0, why: found.why };
  return FOR_A_WORKER.has(found.code)
    ? { position: 0, why: `waits for a worker: ${found.why}` }
    : null;
}

/** All else passes by itself, or is reported elsewhere. */
const FOR_A_WORKER: ReadonlySet<Explanation['code']> = new Set([
  'no_node_fits',
  'no_node_free',
  'nodes_unavailable',
  'alone',
]);
