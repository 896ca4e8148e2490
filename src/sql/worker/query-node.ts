/**
 * A worker's SQL side. What it needs to run queries is loaded with the first fragment: most workers never run one,
 * and all should start fast.
 */
import { realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Capabilities, JobId } from '../../scheduler/core/index.ts';
import type { Executor, RegisteredOperator } from '../../tasks/executors/index.ts';
import { systemClock } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import type {
  FetchAhead,
  RemoteShuffle,
  ShuffleSource,
  WorkerFigures,
} from '../../scheduler/contract/index.ts';
import { OutputStore, shuffleSource } from '../shuffle/index.ts';
import type { OutputKind } from '../shuffle/index.ts';
import { temporaryData } from './data-folder.ts';
import { DiskPressure, spaceIn } from './disk-pressure.ts';
import { duckdbVersion } from './duckdb-version.ts';
import type { FragmentRuntime } from './fragment-runtime.ts';
import { readEarly } from './task-input.ts';

export interface QueryNodeOptions {
  readonly nodeId: string;
  /** Fragments that run at the same time. */
  readonly slots: number;
  /** The folder for outputs; a temporary one if undefined. */
  readonly data: string | undefined;
  /** For all fragments together; a share of the machine's memory if undefined. */
  readonly memoryBytes: number | undefined;
  /** Processors for fragments; all of them if undefined. */
  readonly threads: number | undefined;
  /** What all fragments together may spill to disk; a share of the free space if undefined. */
  readonly spillBytesMax: number | undefined;
  /** Where fragments spill; beside the outputs if undefined. */
  readonly spillFolder: string | undefined;
  /** The folder for outputs, if not `data`. */
  readonly shuffleFolder: string | undefined;
  /** Folders that may be read; empty for no limit. */
  readonly roots: readonly string[];
  readonly shuffleInPlace: boolean;
  /** The largest result of a task. */
  readonly resultBytesMax: number;
  /** Called with the first fragment; fetches outputs of other workers. */
  readonly remoteShuffle: () => RemoteShuffle;
  /** Where others reach this worker; null if they cannot. */
  readonly address: () => Promise<string | null>;
  /** Rows that an operator may return for one batch of its input. */
  readonly operatorRowsMax: number;
  /** Custom operators and functions of this worker. */
  readonly operators: () => readonly RegisteredOperator[];
  /** Called when `pressure` has changed. */
  readonly onPressure?: () => void;
}

export interface QueryNode {
  readonly executors: readonly Executor[];
  readonly capabilities: Capabilities;
  /** The version of DuckDB. */
  readonly duckdb: string;
  readonly source: ShuffleSource;
  /** What the node is short of, as a capability; empty if nothing. */
  pressure(): Capabilities;
  /** What its outputs take, and what is left of their disk. */
  usage(): Omit<WorkerFigures, 'residentBytes'>;
  /** The leader recommends to have so many bytes on the way from each node whose outputs are fetched. */
  recommendWindow(bytes: number): void;
  /** Fetches inputs of tasks that will likely run here. Resolves when they are here, or were given up. */
  fetchAhead(ahead: readonly FetchAhead[]): Promise<void>;
  /** Queries that have outputs here. */
  queries(kind?: OutputKind): readonly JobId[];
  /** Removes the outputs of a query. */
  drop(query: JobId, kind?: OutputKind): Promise<void>;
  /** Ends the engines and removes their files. */
  close(): Promise<void>;
}

/** By name; the executors themselves are loaded later. */
const EXECUTORS = ['sql', 'sql.fragment'] as const;
/** Many fragments end before anybody looks, and each commit of a start delays the others. */
const QUIET_MS = 250;

/** Checking the disk must not keep a process alive. */
const backgroundClock: Clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Returns null if there is no DuckDB for this platform: such a worker runs everything but queries. */
export async function openQueryNode(options: QueryNodeOptions): Promise<QueryNode | null> {
  const duckdb = duckdbVersion();
  if (duckdb === null || options.slots === 0) return null;
  if (options.operators().length > 0)
    (await import('./worker-code.ts')).checkOperators(options.operators());
  const { memoryBytes } = options;
  const roots = realRoots(options.roots);
  const given = options.shuffleFolder ?? options.data;
  const isTemporary = given === undefined;
  const store = await OutputStore.open({ folder: given ?? (await temporaryData()), isTemporary });
  const { spillFolder } = options;
  const spills =
    spillFolder === undefined
      ? store
      : await OutputStore.open({ folder: spillFolder, name: 'spill' });
  const pressure = new DiskPressure({
    clock: backgroundClock,
    space: () => spaceIn(store.root),
    onChange: () => options.onPressure?.(),
  });
  let node: FragmentRuntime | null = null;
  const start = async (): Promise<FragmentRuntime> => {
    const { startFragmentRuntime } = await import('./fragment-runtime.ts');
    node ??= startFragmentRuntime(
      { ...options, roots, onDiskFull: () => pressure.met(), hasRoom: () => !pressure.isShort },
      { store, spills },
    );
    return node;
  };
  const discard: Executor['discard'] = ({ jobId: query, taskId: task, fence }) =>
    store.afterwards(store.discard({ query, task, fence }));
  const executors = EXECUTORS.map((name): Executor => {
    return {
      name,
      // The `sql` executor only waits for others.
      ...(name === 'sql.fragment' ? { quietMs: QUIET_MS, isBulk: true, discard } : {}),
      run: async (input, context) => (node ?? (await start())).executors[name].run(input, context),
    };
  });
  return {
    executors,
    capabilities: {
      ...{ duckdb, roots, query_threads: options.threads ?? availableParallelism() },
      ...(memoryBytes === undefined ? {} : { memory_bytes: memoryBytes }),
    },
    duckdb,
    source: shuffleSource(store),
    usage: () => ({
      shuffleBytes: store.usage.bytes,
      diskFreeBytes: pressure.freeBytes,
      fetchBytesPerSecond: node?.fetches.measure() ?? 0,
    }),
    recommendWindow: (bytes) => node?.fetches.recommend(bytes),
    fetchAhead: async (ahead) => fetchFor(await start(), ahead),
    pressure: () => (pressure.isShort ? { pressure: 'disk' } : {}),
    queries: (kind) => [...new Set([...store.queries(kind), ...fetchedQueries(node)])],
    drop: async (query, kind) => {
      await node?.shared.drop(query);
      await node?.early.drop(query);
      await store.drop(query, kind);
    },
    close: async () => {
      pressure.close();
      await node?.close();
      await store.close();
      if (spills !== store) await spills.close();
    },
  };
}

async function fetchFor({ early }: FragmentRuntime, ahead: readonly FetchAhead[]): Promise<void> {
  await Promise.all(ahead.map(({ query, reads }) => early.fetch(query, readEarly(reads))));
}

/** Of which inputs are here. */
function fetchedQueries(node: FragmentRuntime | null): readonly JobId[] {
  return node === null ? [] : [...node.shared.queries, ...node.early.queries];
}

/** With symbolic links resolved, as the paths of files are. */
function realRoots(roots: readonly string[]): readonly string[] {
  return roots.map((root) => {
    try {
      return realpathSync(root);
    } catch (cause) {
      throw new MillraceError({
        code: 'bad_setting',
        what: `The root ${root} cannot be read.`,
        todo: 'Name an existing folder, or leave it out.',
        cause,
      });
    }
  });
}
