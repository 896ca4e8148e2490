/** The one table of settings: for each its kind, its default and what it does, in a few words. */
import { defaultSettings, type Settings } from '../../scheduler/core/index.ts';
import {
  address,
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
  variable,
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
  sessionTtlMs: 'a session without a word for this long ends, and its leases with it',
  nodeDeadMs: 'a silent node is called dead after this long',
  nodeForgetMs: 'a dead node is forgotten after this long',
  leaderTtlMs: 'a leader that did not renew its term for this long may be replaced',
  leaderRenewMs: 'how often the leader renews its term',
  maxAttempts: 'attempts of a task in all, unless its document says otherwise',
  backoffMs: 'wait before the second attempt; doubled for each further one',
  maxBackoffMs: 'the longest wait between two attempts',
  maxLosses: 'how often a task may lose its node before it is called dead',
  quarantineFailures: 'failed tasks that put a node into quarantine',
  quarantineJobs: 'jobs that these failures must be spread over',
  quarantineWindowMs: 'failures older than this no longer count',
  quarantineMs: 'how long a quarantine lasts',
  slotsPerNode: 'tasks that run at once on a node that does not set `slots`',
  jobRetentionMs: 'how long a finished job is kept',
  eventRetentionMs: 'how long the log is kept',
  keyRetentionMs: 'how long a completed execution key is kept',
  pruneEveryMs: 'how often what is past its time is removed',
  misfireGraceMs: 'how late a schedule may run and still be on time',
  catchUpMax: 'occurrences that a schedule may catch up at once',
  documentBytesMax: 'the largest job document',
  tasksPerJobMax: 'the most tasks in a job',
  inputBytesMax: 'the largest input of a task',
  resultBytesMax: 'the largest result of a task',
  stepBytesMax: 'the largest result of a step',
  signalBytesMax: 'the largest body of a signal',
  signalsPerJobMax: 'the most signals that a job may be sent',
  schedulesMax: 'the most schedules',
  maxQueries: 'queries that run at the same time; others wait to be let in',
  queryMemoryBytes: 'memory that running queries may ask for together; 0 for no limit',
  resultTtlMs: 'how long the rows of a query are kept after it has succeeded',
};

export const coreTable: Table<Settings> = Object.fromEntries(
  Object.entries(coreHelp).map(([name, help]) => {
    const least = name === 'queryMemoryBytes' ? 0 : 1;
    const kind = name.endsWith('Ms') ? duration(1) : /Bytes/.test(name) ? size(least) : whole(1);
    return [name, { kind, help, fallback: defaultSettings[name as keyof Settings] }];
  }),
) as unknown as Table<Settings>;

export const nodeTable: Table<NodeSettings> = {
  host: { kind: host, fallback: '127.0.0.1', help: 'the address to listen on' },
  port: { kind: whole(0, 65_535), fallback: 7070, help: 'the port of HTTP; 0 takes a free one' },
  grpcPort: {
    kind: whole(0, 65_535),
    fallback: 7071,
    help: 'the port of gRPC; 0 takes a free one',
  },
  advertise: { ...none(host), help: 'the host under which others reach this node' },
  nodeId: { ...none(id), help: 'the name of this node; made up if left out' },
  role: {
    kind: choice('auto', 'leader', 'worker', 'observer'),
    fallback: 'auto',
    help: 'what this node may become: auto, leader, worker or observer',
  },
  slots: {
    kind: whole(0, 10_000),
    fallback: defaultSettings.slotsPerNode,
    help: 'tasks that run at once; 0 executes nothing',
  },
  prefetch: {
    ...none(whole(0, 10_000)),
    help: 'tasks that a worker holds ready beyond its slots; as many as their run times call for if left out',
  },
  data: { kind: path, fallback: './.millrace', help: 'the folder of this node' },
  database: { ...none(databaseUrl), isSecret: true, help: 'the PostgreSQL database of a cluster' },
  server: { kind: httpUrl, fallback: 'http://127.0.0.1:7070', help: 'the server to talk to' },
  servers: {
    kind: list(address),
    fallback: [],
    help: 'gRPC addresses of the cluster, HOST:PORT[,...]',
    flag: '--server',
  },
  listen: { ...none(address), help: 'HOST:PORT where a worker listens' },
  memoryBytes: {
    ...none(size(1)),
    help: 'memory for queries on this node; 60 % of the machine if left out',
    flag: '--memory',
  },
  threads: {
    ...none(whole(1, 1_024)),
    help: 'processors that queries on this node use; all of the machine if left out',
  },
  spillBytesMax: {
    ...none(size(0)),
    help: 'what queries on this node may spill to disk; half of what is free if left out',
  },
  planMemoryBytes: {
    ...none(size(16 * MIB)),
    help: 'memory for planning a query; an eighth of the machine, 1 GiB at most, if left out',
  },
  planTimeoutMs: {
    kind: duration(1),
    fallback: 20_000,
    help: 'how long finding the tables of a query and planning it may take',
  },
  shuffleByNetwork: {
    kind: yesOrNo,
    fallback: false,
    help: 'fetch outputs of other workers over the network, also where their folder is visible',
  },
  abandonOutputs: {
    kind: yesOrNo,
    fallback: false,
    help: 'leave on shutdown without waiting for those who read outputs of queries',
  },
  roots: {
    ...many(path),
    help: 'a folder that queries may read and containers may use; repeatable',
    flag: '--root',
  },
  modules: { ...many(path), help: 'a file that registers executors; repeatable', flag: '--module' },
  capabilities: {
    kind: capabilities,
    fallback: {},
    help: 'what this node offers, NAME=VALUE; repeatable',
    flag: '--capability',
  },
  expect: { ...many(id), help: 'an executor that must be registered at the start; repeatable' },
  allowPrivateHttp: {
    kind: yesOrNo,
    fallback: false,
    help: 'the http executor may call hosts that are not public',
  },
  allowCommand: {
    ...many(program),
    help: 'a command that the command executor may run; repeatable; without any it is off',
  },
  allowEnv: {
    ...many(variable),
    help: 'a variable that a task may set for a command, or the beginning of names with *; repeatable',
  },
  allowContainer: {
    ...none(program),
    help: 'run containers with this command, such as docker or podman; off if left out',
  },
  catalog: { ...none(path), help: 'a file that names the tables of queries' },
  tokenFile: { ...none(path), help: 'the tokens that a server accepts, or that a client shows' },
  token: { ...none(secret), isSecret: true, flag: null, help: 'the token that a client shows' },
  tlsCert: { ...none(path), help: 'the certificate of this node, PEM' },
  tlsKey: { ...none(path), help: 'its private key, PEM' },
  tlsCa: {
    ...none(path),
    help: 'who signs the certificates of peers, PEM; then they must show one',
  },
  insecure: {
    kind: yesOrNo,
    fallback: false,
    help: 'listen to others without TLS and tokens; let tokens travel unencrypted',
  },
  drainMs: {
    kind: duration(0),
    fallback: 30_000,
    help: 'time to finish running tasks on shutdown',
  },
  abortGraceMs: {
    kind: duration(0),
    fallback: 30_000,
    help: 'time for a handler to heed its abort signal before it is killed',
  },
  pollMs: { kind: duration(1), fallback: 30_000, help: 'how long a poll for work is parked' },
  requestBytesMax: { kind: size(1), fallback: 17 * MIB, help: 'the largest HTTP request' },
  grpcMessageBytesMax: {
    kind: size(1),
    fallback: 20 * MIB,
    help: 'the largest gRPC request',
  },
  observerJobsMax: { kind: whole(1), fallback: 10_000, help: 'jobs that an observer remembers' },
  sseClientsMax: { kind: whole(0), fallback: 1_000, help: 'event streams open at once' },
  sseSlowClientMs: {
    kind: duration(1),
    fallback: 30_000,
    help: 'an event stream that takes nothing for this long is closed',
  },
  sseKeepAliveMs: {
    kind: duration(1),
    fallback: 15_000,
    help: 'a silent event stream gets a comment this often',
  },
  clockOffsetMs: {
    kind: duration(-86_400_000, 86_400_000),
    fallback: 0,
    help: "added to this node's clock; for tests",
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
