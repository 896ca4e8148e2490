/**
 * A cluster of real processes on a real PostgreSQL, for one test: nodes, workers, their addresses, a
 * client that knows them all, and the trace that handlers leave. Its times are short, so that what takes
 * a leader's or a session's TTL takes seconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { TestClient } from './client.ts';
import type { ClientOptions } from './client.ts';
import { ClusterNode } from './cluster-node.ts';
import type { Ways } from './cluster-node.ts';
import { EFFECTS_FILE, EffectsLog } from './effects-log.ts';
import { settingsEnvironment } from './environment.ts';
import type { TestSettings } from './environment.ts';
import { freePort } from './free-port.ts';
import { Proxy } from './proxy.ts';

/** As it is compiled: nodes run what is compiled, too. */
const FAULT_HANDLERS: string = fileURLToPath(
  new URL('../../../dist/rig/cluster/modules/fault-handlers.js', import.meta.url),
);

export interface NodeOptions {
  readonly id?: string;
  readonly slots?: number;
  readonly settings?: TestSettings;
  /** Modules besides those of the cluster. */
  readonly modules?: readonly string[];
  readonly args?: readonly string[];
  /** Others reach it through proxies only; see `ways` of its plan. */
  readonly isProxied?: boolean;
}

export interface ServeOptions extends NodeOptions {
  readonly role?: 'auto' | 'leader' | 'worker' | 'observer';
  /** Another way to the database; null for none. */
  readonly database?: string | null;
}

export interface WorkerOptions extends NodeOptions {
  /** gRPC addresses; by default those of all nodes that serve. */
  readonly servers?: readonly string[];
}

export interface ClusterOptions {
  readonly database: string;
  /** Nodes that serve and may lead; they execute nothing if there are workers. */
  readonly leaders?: number;
  readonly workers?: number;
  readonly slots?: number;
  readonly settings?: TestSettings;
  readonly modules?: readonly string[];
  readonly client?: ClientOptions;
}

/** Where the proxy of a node listens. Its ports are those of the node, so only the host differs. */
const PROXY_HOST = '127.0.0.2';
const HOST = '127.0.0.1';

export class Cluster {
  readonly nodes: ClusterNode[] = [];
  readonly workers: ClusterNode[] = [];
  readonly client: TestClient;
  readonly effects: EffectsLog;
  /** For whatever a test leaves; gone after it. */
  readonly folder: string;
  readonly #options: ClusterOptions;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.folder = mkdtempSync(join(tmpdir(), 'millrace-cluster-'));
    this.effects = new EffectsLog(join(this.folder, 'effects'));
    this.client = new TestClient(() => this.urls, options.client);
  }

  /** Of those that run, or of all, when none does. */
  get urls(): readonly string[] {
    const running = this.nodes.filter(({ isRunning }) => isRunning);
    return (running.length > 0 ? running : this.nodes).flatMap(({ plan }) => plan.url ?? []);
  }

  node(id: string): ClusterNode {
    const node = [...this.nodes, ...this.workers].find((each) => each.id === id);
    if (node === undefined) throw new Error(`there is no node ${id}`);
    return node;
  }

  /** The node that leads, by its own account. */
  async leading(): Promise<ClusterNode> {
    return this.node((await this.client.leader()).nodeId);
  }

  /** A file of this test's folder, for handlers that wait for one. */
  file(name: string): string {
    return join(this.folder, name);
  }

  /** A node that serves, not started yet. */
  async planNode(options: ServeOptions = {}): Promise<ClusterNode> {
    const id = options.id ?? `n-${this.nodes.length + 1}`;
    const [port, grpcPort] = await this.#ports(2);
    const ways = options.isProxied === true ? await proxied(grpcPort, port) : null;
    const host = ways === null ? HOST : PROXY_HOST;
    const slots = options.slots ?? (this.#options.workers === undefined ? this.#options.slots : 0);
    const database = options.database === undefined ? this.#options.database : options.database;
    const node = new ClusterNode({
      id,
      args: [
        'serve',
        ...(database === null ? ['--server', this.#servers().join(',')] : ['--database', database]),
        ...['--role', options.role ?? 'auto', '--host', HOST, '--advertise', host],
        ...['--port', `${port}`, '--grpc-port', `${grpcPort}`],
        ...this.#shared(id, slots, options),
      ],
      environment: this.#environment(options),
      ready: /^millrace ready (http:\S+)$/,
      url: `http://${host}:${port}`,
      grpc: `${host}:${grpcPort}`,
      ways,
    });
    this.nodes.push(node);
    return node;
  }

  /** A worker without database access, not started yet. */
  async planWorker(options: WorkerOptions = {}): Promise<ClusterNode> {
    const id = options.id ?? `w-${this.workers.length + 1}`;
    const [port] = await this.#ports(1);
    const ways = options.isProxied === true ? await proxied(port, null) : null;
    const host = ways === null ? HOST : PROXY_HOST;
    const slots = options.slots ?? this.#options.slots;
    const node = new ClusterNode({
      id,
      args: [
        ...['worker', '--server', (options.servers ?? this.#servers()).join(',')],
        ...['--listen', `${HOST}:${port}`, '--advertise', host],
        ...this.#shared(id, slots, options),
      ],
      environment: this.#environment(options),
      ready: /^millrace worker ready (\S+)$/,
      url: null,
      grpc: `${host}:${port}`,
      ways,
    });
    this.workers.push(node);
    return node;
  }

  async startNode(options: ServeOptions = {}): Promise<ClusterNode> {
    const node = await this.planNode(options);
    await node.start();
    return node;
  }

  async startWorker(options: WorkerOptions = {}): Promise<ClusterNode> {
    const worker = await this.planWorker(options);
    await worker.start();
    return worker;
  }

  /** Ends everything in order, workers first. A node that takes too long is an error. */
  async stop(): Promise<void> {
    for (const group of [this.workers, this.nodes]) {
      const running = group.filter(({ isRunning }) => isRunning);
      await Promise.all(running.map((node) => node.process.stop()));
    }
  }

  #shared(id: string, slots: number | undefined, options: NodeOptions): readonly string[] {
    const modules = [...(this.#options.modules ?? [FAULT_HANDLERS]), ...(options.modules ?? [])];
    return [
      ...['--node-id', id, '--data', join(this.folder, id)],
      ...(slots === undefined ? [] : ['--slots', `${slots}`]),
      ...modules.flatMap((file) => ['--module', file]),
      ...(options.args ?? []),
    ];
  }

  #environment(options: NodeOptions): Readonly<Record<string, string>> {
    const settings = { ...this.#options.settings, ...options.settings };
    return { ...settingsEnvironment(settings), [EFFECTS_FILE]: this.effects.file };
  }

  #servers(): readonly string[] {
    return this.nodes.map(({ plan }) => plan.grpc);
  }

  async #ports<T extends 1 | 2>(count: T): Promise<T extends 1 ? [number] : [number, number]> {
    const ports = count === 1 ? [await freePort()] : [await freePort(), await freePort()];
    return ports as T extends 1 ? [number] : [number, number];
  }
}

async function proxied(grpcPort: number, httpPort: number | null): Promise<Ways> {
  const before = (port: number): Promise<Proxy> =>
    Proxy.start({ host: HOST, port }, { listen: { host: PROXY_HOST, port } });
  return { grpc: await before(grpcPort), http: httpPort === null ? null : await before(httpPort) };
}

/** The first node leads; the others and the workers follow at once. All of it ends with the test. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = new Cluster(options);
  // Registered before any process, so it comes after their ends.
  onTestFinished(() => rmSync(cluster.folder, { recursive: true, force: true, maxRetries: 5 }));
  const nodes: ClusterNode[] = [];
  for (let at = 0; at < (options.leaders ?? 1); at += 1) nodes.push(await cluster.planNode());
  await nodes[0]?.start();
  const followers = nodes.slice(1);
  for (let at = 0; at < (options.workers ?? 0); at += 1) followers.push(await cluster.planWorker());
  await Promise.all(followers.map((node) => node.start()));
  return cluster;
}
