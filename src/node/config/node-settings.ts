import type { Capabilities } from '../../scheduler/core/index.ts';

export type NodeRole = 'auto' | 'leader' | 'worker' | 'observer';

/** The knobs of a node and of a client; those of the scheduler are the core's `Settings`. */
export interface NodeSettings {
  readonly host: string;
  /** 0 takes any free port, here and for gRPC. */
  readonly port: number;
  readonly grpcPort: number;
  /** The host under which others reach this node; without it `host`. */
  readonly advertise: string | undefined;
  /** Without it the node makes one up at its start. */
  readonly nodeId: string | undefined;
  readonly role: NodeRole;
  /** Tasks that run at once; 0 executes nothing. Without it `slotsPerNode`. */
  readonly slots: number;
  /** Tasks that a worker holds ready beyond its slots; without it as many as `slots`. */
  readonly prefetch: number | undefined;
  readonly data: string;
  readonly database: string | undefined;
  /** Where client commands send their requests. */
  readonly server: string;
  /** gRPC addresses of possible leaders, for workers and for observers without a database. */
  readonly servers: readonly string[];
  /** Where a worker listens; without it it does not. */
  readonly listen: string | undefined;
  /** Where a worker serves metrics and health checks; without it it does not. */
  readonly httpPort: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly threads: number | undefined;
  /** The limit on what queries may spill to disk; by default a share of the free space. */
  readonly spillBytesMax: number | undefined;
  /** Where queries spill; without it below `data`. */
  readonly spillFolder: string | undefined;
  /** Where the outputs of stages lie; without it below `data`. */
  readonly shuffleFolder: string | undefined;
  /** What a custom operator may return without asking for more input: one without end would fill the disk. */
  readonly operatorRowsMax: number;
  /** How often outputs and results that nobody needs any more are looked for. */
  readonly cleanUpMs: number;
  /** What planning a query may take on a leader; without it a part of the machine. */
  readonly planMemoryBytes: number | undefined;
  readonly planTimeoutMs: number;
  /** Outputs of other workers are fetched even where their folder is visible here. */
  readonly shuffleByNetwork: boolean;
  /** On shutdown the node does not wait for readers of outputs: the leader goes as well. */
  readonly abandonOutputs: boolean;
  readonly roots: readonly string[];
  readonly modules: readonly string[];
  readonly capabilities: Capabilities;
  /** Executors that the modules must have registered before the first poll. */
  readonly expect: readonly string[];
  /** The `http` executor may call hosts that are not public. */
  readonly allowPrivateHttp: boolean;
  /** What the `command` executor may run: names and absolute paths. Without any it is not offered. */
  readonly allowCommand: readonly string[];
  /** Variables that a task may set for `command`: names, or beginnings with `*`. */
  readonly allowEnv: readonly string[];
  /** The command line of the `container` executor; without it it is not offered. */
  readonly allowContainer: string | undefined;
  readonly catalog: string | undefined;
  readonly tokenFile: string | undefined;
  /** The token of a client; never a flag, because every user of the machine can read those. */
  readonly token: string | undefined;
  /** What the leader signs webhooks with: several while one is being replaced. Never a flag either. */
  readonly webhookSecrets: readonly string[];
  /** Servers that hear of the ends of all jobs: see `readClusterWebhook`. */
  readonly webhook: readonly string[];
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsCa: string | undefined;
  readonly insecure: boolean;
  readonly drainMs: number;
  readonly abortGraceMs: number;
  /** How long a poll for work is parked at the leader. */
  readonly pollMs: number;
  readonly requestBytesMax: number;
  readonly grpcMessageBytesMax: number;
  readonly observerJobsMax: number;
  readonly sseClientsMax: number;
  readonly sseSlowClientMs: number;
  readonly sseKeepAliveMs: number;
  /** How this process writes its own log to standard error, and from which severity on. */
  readonly logFormat: 'text' | 'json';
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** Where people look at traces, with `{trace}` for the id. */
  readonly traceUrl: string | undefined;
  /** Added to this node's clock. It exists to show that clocks decide nothing. */
  readonly clockOffsetMs: number;
}
