/** The one table of settings: for each its kind, its default and what it does, in a few words. */
import { defaultSettings, type Settings } from '../../scheduler/core/index.ts';
import {
  address,
  serverAddress,
  capabilities,
  choice,
  databaseUrl,
  duration,
  host,
  httpUrl,
  id,
  type Kind,
  list,
  optional,
  path,
  program,
  secret,
  size,
  traceUrl,
  variable,
  webhookKind,
  whole,
  yesOrNo,
} from './kinds.ts';
import type { NodeSettings } from './node-settings.ts';

export interface AllSettings extends Settings, NodeSettings {}

export type SettingName = keyof AllSettings;

export interface Entry<T> {
  readonly kind: Kind<T>;
  readonly fallback: T;
  readonly help: string;
  /** Where the flag is not simply the name; `null` for none. */
  readonly flag?: string | null;
  /** A value that may hold a secret is not repeated in an error. */
  readonly isSecret?: true;
}

export type Table<T> = { readonly [Name in keyof T]: Entry<T[Name]> };

const MIB = 2 ** 20;

/** The core's defaults live in the core; a setting that is added there is missing here at once. */
const coreHelp: Readonly<Record<keyof Settings, string>> = {
  heartbeatMs: 'how often a node renews its session',
  sessionTtlMs: 'a session without a heartbeat for this long expires, together with its leases',
  nodeDeadMs: 'a node without a heartbeat for this long is marked dead',
  nodeForgetMs: 'a dead node is removed after this long',
  leaderTtlMs: 'a leader that did not renew its term for this long may be replaced',
  leaderRenewMs: 'how often the leader renews its term',
  maxAttempts: 'maximum number of attempts of a task, unless its document sets it',
  backoffMs: 'backoff before the second attempt; doubled for each further attempt',
  maxBackoffMs: 'maximum backoff between two attempts',
  maxLosses: 'how often a task may lose its node before it is marked dead',
  quarantineFailures: 'number of failed tasks that puts a node into quarantine',
  quarantineJobs: 'minimum number of jobs that these failures must come from',
  quarantineWindowMs: 'failures older than this no longer count',
  quarantineMs: 'how long a quarantine lasts',
  slotsPerNode: 'concurrent tasks on a node that does not set `slots`',
  jobRetentionMs: 'how long a finished job is kept',
  queryRetentionMs: 'how long a finished query is kept, if that is shorter than for other jobs',
  unkeptRetentionMs: 'how long the end of a job that is not kept can be read: see `keep`',
  eventRetentionMs: 'how long events are kept',
  keyRetentionMs: 'how long a completed execution key is kept',
  pruneEveryMs: 'how often expired jobs, events and keys are removed',
  misfireGraceMs: 'how late an occurrence may start without counting as missed',
  catchUpMax: 'maximum number of missed occurrences that a schedule catches up at once',
  documentBytesMax: 'maximum size of a job document',
  tasksPerJobMax: 'maximum number of tasks per job',
  inputBytesMax: 'maximum size of a task input',
  resultBytesMax: 'maximum size of a task result',
  stepBytesMax: 'maximum size of a step result',
  signalBytesMax: 'maximum size of a signal body',
  signalsPerJobMax: 'maximum number of signals per job',
  schedulesMax: 'maximum number of schedules',
  maxQueries: 'maximum number of running queries; others wait in the admission queue',
  tasksPerQuery: 'maximum number of concurrent tasks of a query',
  stragglerFactor: 'second attempt after this many times the median of its stage; 0 for never',
  stragglerMinMs: 'minimum run time before a fragment gets a second attempt',
  stragglersPerQuery: 'maximum number of second attempts of a query',
  fetchWindowBytes: 'largest fetch window that workers are recommended; 0 recommends nothing',
  earlyFetchPercent: 'percentage of producers after which workers fetch ahead; 100 for never',
  earlyFetchMinBytes: 'minimum size of a partition that is fetched ahead',
  queryMemoryBytes: 'memory that all running queries may reserve in total; 0 for no limit',
  taskLogBytesMax: 'maximum size of the log lines that are kept of a task',
  jobLogBytesMax: 'maximum size of the log lines that are kept of a job',
  resultTtlMs: 'how long the result of a query is kept after it has succeeded',
};

/** 0 stands for never, or for any size. */
const MAY_BE_ZERO: ReadonlySet<string> = new Set([
  'queryMemoryBytes',
  'stragglerFactor',
  'fetchWindowBytes',
  'earlyFetchPercent',
  'earlyFetchMinBytes',
] satisfies (keyof Settings)[]);

export const coreTable: Table<Settings> = Object.fromEntries(
  Object.entries(coreHelp).map(([name, help]) => {
    const least = MAY_BE_ZERO.has(name) ? 0 : 1;
    const kind = name.endsWith('Ms')
      ? duration(1)
      : /Bytes/.test(name)
        ? size(least)
        : whole(least);
    return [name, { kind, help, fallback: defaultSettings[name as keyof Settings] }];
  }),
) as unknown as Table<Settings>;

export const nodeTable: Table<NodeSettings> = {
  host: { kind: host, fallback: '127.0.0.1', help: 'the address to listen on' },
  port: { kind: whole(0, 65_535), fallback: 7070, help: 'the HTTP port; 0 chooses a free port' },
  grpcPort: {
    kind: whole(0, 65_535),
    fallback: 7071,
    help: 'the gRPC port; 0 chooses a free port',
  },
  advertise: { ...none(host), help: 'the host name under which other machines reach this node' },
  nodeId: { ...none(id), help: 'the id of this node; generated if omitted' },
  role: {
    kind: choice('auto', 'leader', 'worker', 'observer'),
    fallback: 'auto',
    help: 'the role of this node: auto, leader, worker or observer',
  },
  slots: {
    kind: whole(0, 10_000),
    fallback: defaultSettings.slotsPerNode,
    help: 'maximum number of concurrent tasks; 0 executes nothing',
  },
  prefetch: {
    ...none(whole(0, 10_000)),
    help: 'tasks that a worker prefetches beyond its slots; derived from their run times if omitted',
  },
  data: { kind: path, fallback: './.millrace', help: 'the data folder of this node' },
  database: { ...none(databaseUrl), isSecret: true, help: 'the PostgreSQL database of a cluster' },
  server: { kind: httpUrl, fallback: 'http://127.0.0.1:7070', help: 'the server to connect to' },
  servers: {
    kind: list(serverAddress),
    fallback: [],
    help: 'servers of the cluster, HOST:GRPC-PORT or http://HOST:PORT[,...]',
    flag: '--server',
  },
  listen: { ...none(address), help: 'HOST:PORT on which a worker listens' },
  httpPort: {
    ...none(whole(0, 65_535)),
    help: 'the port on which a worker serves /metrics, /healthz and /readyz, on the host of `listen`; 0 chooses a free port',
  },
  memoryBytes: {
    ...none(size(1)),
    help: 'memory for queries on this node; 60 % of the machine by default',
    flag: '--memory',
  },
  threads: {
    ...none(whole(1, 1_024)),
    help: 'CPU cores for queries on this node; all by default',
  },
  spillBytesMax: {
    ...none(size(0)),
    help: 'disk space for spilling of queries on this node; half of the free space by default',
  },
  spillFolder: {
    ...none(path),
    help: 'the folder to which queries on this node spill; below `data` by default',
  },
  shuffleFolder: {
    ...none(path),
    help: 'the folder for the outputs of stages on this node; below `data` by default',
  },
  operatorRowsMax: {
    kind: whole(1),
    fallback: 100_000_000,
    help: 'rows that a custom operator may return for one batch of input, or after the last one',
  },
  cleanUpMs: {
    kind: duration(1),
    fallback: 10_000,
    help: 'how often a node looks for outputs and results of queries that nobody needs any more',
  },
  planMemoryBytes: {
    ...none(size(16 * MIB)),
    help: 'memory for planning a query; an eighth of the machine, at most 1 GiB, by default',
  },
  planTimeoutMs: {
    kind: duration(1),
    fallback: 20_000,
    help: 'time limit for resolving the tables of a query and planning it',
  },
  shuffleByNetwork: {
    kind: yesOrNo,
    fallback: false,
    help: 'fetch outputs of other workers over the network even if their folder is visible',
  },
  abandonOutputs: {
    kind: yesOrNo,
    fallback: false,
    help: 'shut down without waiting for readers of query outputs',
  },
  roots: {
    ...many(path),
    help: 'a folder that queries may read and containers may mount; repeatable',
    flag: '--root',
  },
  modules: {
    ...many(path),
    help: 'a module that registers executors; repeatable',
    flag: '--module',
  },
  capabilities: {
    kind: capabilities,
    fallback: {},
    help: 'a capability of this node, NAME=VALUE; repeatable',
    flag: '--capability',
  },
  expect: { ...many(id), help: 'an executor that must be registered at startup; repeatable' },
  allowPrivateHttp: {
    kind: yesOrNo,
    fallback: false,
    help: 'allow the http executor to call private addresses',
  },
  allowCommand: {
    ...many(program),
    help: 'a command that the command executor may run; repeatable; the executor is disabled without any',
  },
  allowEnv: {
    ...many(variable),
    help: 'an environment variable that a task may set for a command; a trailing * matches a prefix; repeatable',
  },
  allowContainer: {
    ...none(program),
    help: 'the command that runs containers, such as docker or podman; the container executor is disabled without it',
  },
  catalog: { ...none(path), help: 'the catalog file with the tables of queries' },
  tokenFile: {
    ...none(path),
    help: 'file with the tokens that a server accepts or a client sends',
  },
  token: { ...none(secret), isSecret: true, flag: null, help: 'the token that a client sends' },
  webhookSecrets: {
    ...many(secret),
    isSecret: true,
    flag: null,
    help: 'the secret that webhooks are signed with; a second one while it is being replaced',
  },
  webhook: {
    ...many(webhookKind),
    help: 'a URL that is notified of every job that fails; failed+cancelled:URL names the ends; repeatable',
  },
  tlsCert: { ...none(path), help: 'the certificate of this node, PEM' },
  tlsKey: { ...none(path), help: 'its private key, PEM' },
  tlsCa: {
    ...none(path),
    help: 'CA certificate for peers, PEM; makes client certificates mandatory',
  },
  insecure: {
    kind: yesOrNo,
    fallback: false,
    help: 'allow other machines without TLS and tokens; allow sending tokens unencrypted',
  },
  logFormat: {
    kind: choice('text', 'json'),
    fallback: 'text',
    help: 'the format of the log on standard error: text or json',
  },
  logLevel: {
    kind: choice('debug', 'info', 'warn', 'error'),
    fallback: 'debug',
    help: 'the least severity that is logged: debug, info, warn or error',
  },
  traceUrl: {
    ...none(traceUrl),
    help: 'where the dashboard links to the trace of a job, with {trace} for its id',
  },
  drainMs: {
    kind: duration(0),
    fallback: 30_000,
    help: 'grace period for running tasks on shutdown',
  },
  abortGraceMs: {
    kind: duration(0),
    fallback: 30_000,
    help: 'grace period for a handler after its abort signal, before it is killed',
  },
  pollMs: { kind: duration(1), fallback: 30_000, help: 'maximum duration of a long poll for work' },
  requestBytesMax: { kind: size(1), fallback: 17 * MIB, help: 'maximum size of an HTTP request' },
  grpcMessageBytesMax: {
    kind: size(1),
    fallback: 20 * MIB,
    help: 'maximum size of a gRPC request',
  },
  observerJobsMax: {
    kind: whole(1),
    fallback: 10_000,
    help: 'number of jobs that an observer caches',
  },
  sseClientsMax: { kind: whole(0), fallback: 1_000, help: 'maximum number of open event streams' },
  sseSlowClientMs: {
    kind: duration(1),
    fallback: 30_000,
    help: 'an event stream that does not accept data for this long is closed',
  },
  sseKeepAliveMs: {
    kind: duration(1),
    fallback: 15_000,
    help: 'interval of keep-alive comments on an idle event stream',
  },
  clockOffsetMs: {
    kind: duration(-86_400_000, 86_400_000),
    fallback: 0,
    help: "offset added to this node's clock; for tests",
  },
};

export const settingNames: readonly SettingName[] = [
  ...(Object.keys(nodeTable) as (keyof NodeSettings)[]),
  ...(Object.keys(coreTable) as (keyof Settings)[]),
];

export function entryOf(name: SettingName): Entry<unknown> {
  const entries: Readonly<Record<SettingName, unknown>> = { ...coreTable, ...nodeTable };
  return entries[name] as Entry<unknown>;
}

/** `sessionTtlMs` is `MILLRACE_SESSION_TTL_MS`. */
export function environmentName(name: SettingName): string {
  return `MILLRACE_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;
}

/** `sessionTtlMs` is `--session-ttl-ms`; `null` where a flag would give a secret away. */
export function flagName(name: SettingName): string | null {
  const { flag } = entryOf(name);
  return flag === undefined ? `--${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}` : flag;
}

function none<T>(kind: Kind<T>): {
  readonly kind: Kind<T | undefined>;
  readonly fallback: undefined;
} {
  return { kind: optional(kind), fallback: undefined };
}

function many(kind: Kind<string>): {
  readonly kind: Kind<readonly string[]>;
  readonly fallback: readonly string[];
} {
  return { kind: list(kind), fallback: [] };
}
