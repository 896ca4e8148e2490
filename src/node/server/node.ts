/** One node, put together and taken apart in the right order. */
import type { MessagePort } from 'node:worker_threads';
import type { LeaderFigures, Standing } from '../../edge/http/index.ts';
import type { Config } from '../config/index.ts';
import { LeaderGateway, LeaderMeasures } from '../../scheduler/coordinator/index.ts';
import type { Leader } from '../../scheduler/coordinator/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import { flushTraces, machineName, systemClock } from '../../kit/index.ts';
import type { Say } from '../../kit/index.ts';
import { ownHandshake } from '../../scheduler/contract/index.ts';
import { LeaderChannel, remoteReader } from '../../edge/grpc/index.ts';
import type { Session } from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { EventFeed, StoreReader } from '../../edge/read/index.ts';
import { Follower, Observer } from './follower.ts';
import { BulkWorker } from './bulk/bulk-worker.ts';
import { Candidate } from './candidate.ts';
import { clusterWebhooks } from './cluster-webhooks.ts';
import { credentialsFor } from './credentials.ts';
import type { NodeCredentials } from './credentials.ts';
import { Listeners } from './listeners.ts';
import { QueryServices } from './query-services.ts';
import type { QuerySideOptions } from './query-services.ts';
import type { Addresses, Part } from './role.ts';
import { StoreWatch } from './store-watch.ts';
import { workerFlags } from './worker-flags.ts';
import { type Presence, openPresence } from './presence.ts';
import { WorkerSupervisor } from './worker-supervisor.ts';

export interface NodeOptions {
  readonly config: Config;
  /** Null for an observer without a database. Closed when the node stops. */
  readonly store: Store | null;
  readonly environment: NodeJS.ProcessEnv;
  /** Lines for people. */
  readonly say: Say;
  /** What the node's own worker and its handlers print; without it they share this process's stderr. */
  readonly print?: (line: string) => void;
  /** For a node that serves one program: the token that every caller must show. Otherwise the settings decide. */
  readonly token?: string | undefined;
  /** Whether its gRPC server offers reflection, as it does by default. To prepare that is a quarter
   * of the time that a start takes. */
  readonly hasReflection?: boolean;
  /** Its worker runs outside of this node and registers under the node's id. The node must not register, too. */
  readonly hasWorkerElsewhere?: boolean;
  /** For what handlers write, where this process keeps its own files private. */
  readonly fileMask?: number | undefined;
}

/** For the exporters of the user's spans. */
const FLUSH_MS = 2_000;
/** Events that an observer buffers for its followers. */
const OBSERVED_EVENTS = 10_000;

export class ServerNode {
  readonly nodeId: string;
  readonly #options: NodeOptions;
  readonly #gateway: LeaderGateway;
  readonly #part: Part;
  readonly #listeners: Listeners;
  readonly #channel: LeaderChannel | null;
  readonly #queries: QueryServices | null;
  readonly #measures: LeaderMeasures;
  readonly #bulk: BulkWorker;
  readonly #credentials: NodeCredentials;
  #worker: WorkerSupervisor | null = null;
  #presence: Presence | null = null;
  #isReady = false;
  /** Why the store cannot be used; null when it can. */
  #trouble: MillraceError | null = null;
  readonly #storeWatch: StoreWatch | null;
  #isStopping = false;

  /** Listens, and begins to play its part; `ready` tells when it accepts work. */
  static async start(options: NodeOptions): Promise<ServerNode> {
    const { config, say, token, hasReflection = true } = options;
    const nodeId = config.node.nodeId ?? machineName('node');
    const credentials = credentialsFor(config.node, say, token);
    const gateway = new LeaderGateway(nodeId);
    const channel = channelFor(options, credentials);
    const onFault = (error: unknown): void =>
      say(`Unexpected: ${error instanceof Error ? error.message : String(error)}`, 'error');
    const queries = await querySide(options, { gateway, credentials, onFault });
    const measures = new LeaderMeasures();
    let node: ServerNode | null = null;
    const onTrouble = (trouble: MillraceError | null): void => node?.troubled(trouble);
    let bulk: BulkWorker | null = null;
    const onLead = (): void => bulk?.resume();
    const around = { nodeId, gateway, credentials, channel, queries, measures, onTrouble, onLead };
    const part = partFor(options, around);
    const { reader } = part;
    bulk = new BulkWorker({ nodeId, gateway, reader, clock: systemClock, say });
    const onBulk = bulk.wake.bind(bulk);
    const listeners = await Listeners.open({
      config,
      credentials,
      hasReflection,
      gateway,
      reader,
      onBulk,
      queries,
      onFault,
      standing: () => node?.standing ?? { ...NO_STANDING, nodeId },
      onWorkerHeard: (session) => watcher(part)?.heard(session),
      onWorkerRenewed: (session) => watcher(part)?.renewed(session),
      onWorkerLost: (session) => watcher(part)?.lost(session),
    });
    queries?.listensAt(listeners.addresses.grpc);
    node = new ServerNode(options, { ...around, part, listeners, bulk });
    await part.start(listeners.addresses);
    node.#storeWatch?.start();
    return node;
  }

  private constructor(
    options: NodeOptions,
    made: Pick<ServerNode, 'nodeId'> & {
      readonly gateway: LeaderGateway;
      readonly part: Part;
      readonly listeners: Listeners;
      readonly channel: LeaderChannel | null;
      readonly queries: QueryServices | null;
      readonly measures: LeaderMeasures;
      readonly bulk: BulkWorker;
      readonly credentials: NodeCredentials;
    },
  ) {
    this.#options = options;
    this.nodeId = made.nodeId;
    this.#gateway = made.gateway;
    this.#part = made.part;
    this.#listeners = made.listeners;
    this.#channel = made.channel;
    this.#queries = made.queries;
    this.#measures = made.measures;
    this.#bulk = made.bulk;
    this.#credentials = made.credentials;
    this.#storeWatch = this.#watchFor(options);
  }

  get addresses(): Addresses {
    return this.#listeners.addresses;
  }

  get standing(): Standing {
    const leads = this.#gateway.isOpen;
    return {
      nodeId: this.nodeId,
      leads,
      epoch: this.#gateway.whoLeads()?.epoch ?? null,
      isReady: this.#isReady,
      storeAnswers: this.#trouble === null,
      figures: leads ? figuresOf(this.#gateway.leader()) : null,
      measures: this.#part instanceof Candidate ? this.#measures : null,
    };
  }

  /** Settles when the node accepts work, its own worker included; rejects when it never will. */
  async ready(): Promise<void> {
    await this.#part.ready;
    if (this.#isStopping) return;
    const { config, environment, say, print, fileMask } = this.#options;
    if (config.node.role !== 'observer' && config.node.slots > 0) {
      this.#worker = new WorkerSupervisor({
        clock: systemClock,
        nodeId: this.nodeId,
        flagsFor: (nodeId) => workerFlags(config.node, nodeId, this.#localGrpc, fileMask),
        // For handlers that submit jobs: `connect()` finds the server there.
        environment: { ...environment, MILLRACE_SERVER: this.#listeners.addresses.url },
        drainMs: config.node.drainMs,
        say,
        print,
      });
      await this.#worker.start();
    } else if (this.#registersItself) {
      this.#presence = openPresence(this.nodeId, this.#localGrpc, this.#credentials, say);
    }
    if (this.#isStopping) return;
    this.#isReady = true;
    this.#listeners.setServing(this.#trouble === null);
  }

  /** On a store of its own nobody asks which servers there are. */
  get #registersItself(): boolean {
    const { store, config, hasWorkerElsewhere = false } = this.#options;
    return store?.clustered === true && config.node.role !== 'observer' && !hasWorkerElsewhere;
  }

  /** The store does not answer, or answers again. */
  troubled(trouble: MillraceError | null): void {
    this.#gateway.troubled(trouble);
    const hasChanged = (trouble === null) !== (this.#trouble === null);
    this.#trouble = trouble;
    if (!hasChanged) return;
    this.#listeners.setServing(this.#isReady && trouble === null);
    const { say } = this.#options;
    if (trouble === null) say('The database answers again.');
    else say(`Waiting: ${trouble.what}`, 'warn');
  }

  /** A database elsewhere may go away. An observer answers from its own copy meanwhile. */
  #watchFor({ store, config }: NodeOptions): StoreWatch | null {
    if (store?.clustered !== true || config.node.role === 'observer') return null;
    return new StoreWatch({
      clock: systemClock,
      // A leader asks all the time, and is none any more when it has no answer.
      ask: async () => (this.#gateway.isOpen ? null : store.leader(0)),
      onChange: (trouble) => this.troubled(trouble),
    });
  }

  /** Serves another thread of this process, without a network: see `edge/local`. */
  serveLocal(port: MessagePort): void {
    this.#listeners.serveLocal(port);
  }

  /** Another worker process takes over, with the modules as they are now. Rejects when it cannot run
   * with them; the old one stays then. */
  async replaceWorker(): Promise<void> {
    if (!this.#isStopping) await this.#worker?.replace();
  }

  /** Work first, while it can still be reported; the store last. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#isReady = false;
    this.#storeWatch?.stop();
    this.#listeners.setServing(false);
    try {
      await Promise.all([this.#worker?.stop(), this.#presence?.close(), this.#bulk.stop()]);
      await this.#part.stop();
      await this.#listeners.close();
    } finally {
      await this.#queries?.close();
      this.#channel?.close();
      await this.#options.store?.close();
      await flushTraces(FLUSH_MS);
    }
  }

  /** The worker asks its own node first, which names the leader. */
  get #localGrpc(): string {
    return this.#listeners.addresses.grpc;
  }
}

function figuresOf(leader: Leader): LeaderFigures {
  const { runningQueries, waitingQueries, unfitTasks: _, ...figures } = leader.figures();
  return { ...figures, queries: { running: runningQueries, waiting: waitingQueries } };
}

const NO_STANDING = {
  leads: false,
  epoch: null,
  isReady: false,
  storeAnswers: true,
  figures: null,
} as const;

interface Surroundings {
  readonly nodeId: string;
  readonly gateway: LeaderGateway;
  readonly credentials: NodeCredentials;
  readonly channel: LeaderChannel | null;
  readonly queries: QueryServices | null;
  readonly measures: LeaderMeasures;
  readonly onTrouble: (trouble: MillraceError | null) => void;
  readonly onLead: () => void;
}

function partFor(options: NodeOptions, around: Surroundings): Part {
  const { config, store, say } = options;
  const { nodeId, gateway, channel, queries } = around;
  const { role, observerJobsMax } = config.node;
  const base = { clock: systemClock, settings: config.core, gateway };
  if (role === 'observer') {
    const source = store === null ? remote(channel) : storeReader(store);
    const limits = { jobsMax: observerJobsMax, eventsMax: OBSERVED_EVENTS, random: Math.random };
    const onTrouble = (error: Error): void =>
      say(`Reading the cluster state failed: ${error.message}`, 'warn');
    return new Observer({ ...base, ...limits, source, onTrouble });
  }
  if (store === null || queries === null) throw needsDatabase(role);
  if (role === 'worker') return new Follower({ ...base, store });
  return new Candidate({
    ...base,
    nodeId,
    role,
    store,
    handshake: ownHandshake(),
    say,
    measures: around.measures,
    webhookSecrets: config.node.webhookSecrets,
    webhooks: clusterWebhooks(config.node),
    planner: queries.planner,
    onCommitted: queries.committed,
    onLead: () => {
      queries.warm();
      around.onLead();
    },
    // A remote database has its own watch, which also works without requests.
    ...(store.clustered ? {} : { onTrouble: around.onTrouble }),
  });
}

/** Null without a database. */
async function querySide(
  { config, store, say }: NodeOptions,
  around: Pick<Surroundings, 'gateway' | 'credentials'> & Pick<QuerySideOptions, 'onFault'>,
): Promise<QueryServices | null> {
  if (store === null) return null;
  return QueryServices.open({ config, store, say, clock: systemClock, ...around });
}

function channelFor(options: NodeOptions, credentials: NodeCredentials): LeaderChannel | null {
  const { servers, role } = options.config.node;
  if (options.store !== null || role !== 'observer') return null;
  if (servers.length === 0) throw needsDatabase(role);
  return new LeaderChannel({ ...credentials.outgoing, addresses: servers });
}

function remote(channel: LeaderChannel | null): ReturnType<typeof remoteReader> {
  if (channel === null) throw needsDatabase('observer');
  return remoteReader(channel);
}

function storeReader(store: Store): StoreReader {
  return new StoreReader({ store, feed: new EventFeed({ store, clock: systemClock }) });
}

interface Watcher {
  heard(session: Session): void;
  renewed(session: Session): void;
  lost(session: Session): void;
}

/** Only a node that may lead looks after workers. */
function watcher(part: Part): Watcher | null {
  return part instanceof Candidate ? part : null;
}

function needsDatabase(role: string): MillraceError {
  const alsoServers = role === 'observer' ? ', or the leader with --server HOST:GRPC' : '';
  return new MillraceError({
    code: 'bad_setting',
    what: `A node with the role ${role} needs the address of its cluster.`,
    todo: `Set the database with --database postgres://...${alsoServers}.`,
  });
}
