/**
 * A worker's part in queries. What is needed to run them is loaded and made when the first fragment comes:
 * most workers never see one, and all of them want to start soon.
 */
import { realpathSync } from 'node:fs';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Capabilities, JobId } from '../../scheduler/core/index.ts';
import type { Executor } from '../../tasks/executors/index.ts';
import { systemClock } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { RemoteShuffle, ShuffleSource } from '../../scheduler/contract/index.ts';
import { OutputStore, shuffleSource } from '../shuffle/index.ts';
import type { OutputKind } from '../shuffle/index.ts';
import { temporaryData } from './data-folder.ts';
import { DiskPressure, spaceIn } from './disk-pressure.ts';
import { duckdbVersion } from './duckdb-version.ts';
import type { RunningNode } from './running-node.ts';

export interface QueryNodeOptions {
  readonly nodeId: string;
  /** Fragments that run at the same time. */
  readonly slots: number;
  /** Where outputs lie; a temporary folder if not given. */
  readonly data: string | undefined;
  /** For all fragments together; a part of the machine's if not given. */
  readonly memoryBytes: number | undefined;
  /** Processors that fragments use; all there are when undefined. */
  readonly threads: number | undefined;
  /** What all fragments together may spill to disk; a part of what is free if not given. */
  readonly spillBytesMax: number | undefined;
  /** Folders below which files may be read; none for no limit. */
  readonly roots: readonly string[];
  readonly shuffleInPlace: boolean;
  /** The largest result of a task. */
  readonly resultBytesMax: number;
  /** Opened with the first fragment: how outputs of other workers are fetched. */
  readonly remoteShuffle: () => RemoteShuffle;
  /** Where they reach this one; null when they cannot. */
  readonly address: () => Promise<string | null>;
  /** Whether this worker has an executor or operator of this name. */
  readonly offers: (name: string) => boolean;
  /** What `pressure` says has changed. */
  readonly onPressure?: () => void;
}

export interface QueryNode {
  readonly executors: readonly Executor[];
  readonly capabilities: Capabilities;
  /** As DuckDB says it. */
  readonly duckdb: string;
  readonly source: ShuffleSource;
  /** What it is short of, as a capability; nothing if it is not. */
  pressure(): Capabilities;
  /** Queries of which there is something here. */
  queries(kind?: OutputKind): readonly JobId[];
  /** Nobody needs it any more. */
  drop(query: JobId, kind?: OutputKind): Promise<void>;
  /** Ends the engines and removes what they have made. */
  close(): Promise<void>;
}

/** By their names; they themselves are loaded later. */
const EXECUTORS = ['sql', 'sql.fragment'] as const;
/** Many fragments are over before anybody looks, and a commit of their start takes time from those that are not. */
const QUIET_MS = 250;

/** A look at the disk keeps no process alive. */
const backgroundClock: Clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  after: (ms, fn) => {
    const timer = setTimeout(fn, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Null where there is no DuckDB: such a worker runs everything but queries. */
export async function openQueryNode(options: QueryNodeOptions): Promise<QueryNode | null> {
  const duckdb = duckdbVersion();
  if (duckdb === null || options.slots === 0) return null;
  const { memoryBytes } = options;
  const roots = realRoots(options.roots);
  const isTemporary = options.data === undefined;
  const folder = options.data ?? (await temporaryData());
  const store = await OutputStore.open({ folder, isTemporary });
  const pressure = new DiskPressure({
    clock: backgroundClock,
    space: () => spaceIn(store.root),
    onChange: () => options.onPressure?.(),
  });
  let node: RunningNode | null = null;
  const start = async (): Promise<RunningNode> => {
    const { startNode } = await import('./running-node.ts');
    node ??= startNode({ ...options, roots, onDiskFull: () => pressure.met() }, store);
    return node;
  };
  const executors = EXECUTORS.map((name): Executor => {
    return {
      name,
      // The `sql` executor only waits for others.
      ...(name === 'sql.fragment' ? { quietMs: QUIET_MS, isBulk: true } : {}),
      run: async (input, context) => (node ?? (await start())).executors[name].run(input, context),
    };
  });
  return {
    executors,
    capabilities: {
      duckdb,
      roots,
      ...(memoryBytes === undefined ? {} : { memory_bytes: memoryBytes }),
    },
    duckdb,
    source: shuffleSource(store),
    pressure: () => (pressure.isShort ? { pressure: 'disk' } : {}),
    queries: (kind) => [...new Set([...store.queries(kind), ...(node?.shared.queries ?? [])])],
    drop: async (query, kind) => {
      await node?.shared.drop(query);
      await store.drop(query, kind);
    },
    close: async () => {
      pressure.close();
      await node?.close();
      await store.close();
    },
  };
}

/** As files are found, however many links lead there. */
function realRoots(roots: readonly string[]): readonly string[] {
  return roots.map((root) => {
    try {
      return realpathSync(root);
    } catch (cause) {
      throw new MillraceError({
        code: 'bad_setting',
        what: `The root ${root} cannot be read.`,
        todo: 'Name a folder that is there, or leave it out.',
        cause,
      });
    }
  });
}
