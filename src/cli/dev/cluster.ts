/** A whole cluster on one machine for development: PostgreSQL, two nodes that can lead, two workers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../../node/config/index.ts';
import { deferred, makePrivateFolder, systemClock } from '../../kit/index.ts';
import { WorkerSupervisor, workerFlags } from '../../node/server/index.ts';
import type { Reply } from '../command.ts';
import { exit, type ExitCode } from '../exit.ts';
import { aborted, endWithTerminal } from '../interruption.ts';
import { pathError } from '../local-path.ts';
import { type ChildAddresses, ClusterChild } from './cluster-child.ts';
import { type LocalPostgres, startPostgres } from './postgres.ts';
import { reloadOnChange } from './reloading.ts';

export interface ClusterOptions {
  readonly config: Config;
  /** Null for a folder that is gone afterwards. */
  readonly data: string | null;
  readonly reply: Reply;
  readonly signal: AbortSignal;
}

const NODES = ['node-1', 'node-2'] as const;
const WORKERS = ['w-1', 'w-2'] as const;
const COLUMN = 8;
/** How far the ports of the second node are above those of the first. */
const PORT_STEP = 10;

export async function runCluster(options: ClusterOptions): Promise<ExitCode> {
  const { data } = options;
  const folder = data === null ? mkdtempSync(join(tmpdir(), 'millrace-dev-')) : made(resolve(data));
  const remove = (): void => {
    if (data === null) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  // Also when a second Ctrl-C ends the process on the spot.
  process.once('exit', remove);
  const release = endWithTerminal(options.reply.terminal !== null);
  try {
    return await new DevCluster(folder, options).run();
  } finally {
    release();
    process.off('exit', remove);
    remove();
  }
}

function made(folder: string): string {
  try {
    makePrivateFolder(folder);
    return folder;
  } catch (error) {
    throw pathError(error, `Cannot use ${folder} as the folder of a cluster`);
  }
}

class DevCluster {
  readonly #folder: string;
  readonly #options: ClusterOptions;
  readonly #nodes: ClusterChild[] = [];
  readonly #supervisors: WorkerSupervisor[] = [];
  #postgres: LocalPostgres | null = null;
  #endReload: () => void = () => {};

  constructor(folder: string, options: ClusterOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  async run(): Promise<ExitCode> {
    const { signal } = this.#options;
    const interrupted = aborted(signal).then(() => 'interrupted' as const);
    try {
      const started = this.#start().then(() => 'started' as const);
      if ((await Promise.race([started, interrupted])) === 'interrupted') {
        // Those that are not ready yet give up; what was begun meanwhile is ended below.
        await this.#stop();
        await started.catch(() => {});
        return exit.interrupted;
      }
      const lost = this.#postgres?.lost ?? Promise.resolve('');
      const end = await Promise.race([interrupted, lost]);
      if (end === 'interrupted') return exit.done;
      this.#say('postgres', `has ended: ${end}`);
      return exit.workFailed;
    } finally {
      if (signal.aborted)
        this.#options.reply.note('Shutting down. Press Ctrl-C again to exit immediately.');
      await this.#stop();
    }
  }

  async #start(): Promise<void> {
    const { config, data, reply, signal } = this.#options;
    const say = (line: string): void => this.#say('postgres', line);
    reply.note(`Starting PostgreSQL in ${this.#folder} ...`);
    this.#postgres = await startPostgres(this.#folder, data !== null, say);
    const { url } = this.#postgres;
    const addresses: ChildAddresses[] = [];
    // One after the other: the first one leads.
    for (const [at, name] of NODES.entries()) {
      if (signal.aborted) return;
      const node = this.#node(name, at, url);
      this.#nodes.push(node);
      addresses.push(await node.start());
    }
    const grpc = addresses.map((each) => each.grpc).join(',');
    if (signal.aborted) return;
    for (const name of WORKERS) this.#supervisors.push(this.#supervisor(name, grpc));
    // Before they load the modules: what is saved from now on is loaded or noticed.
    const isReady = deferred();
    const replace = (): Promise<void> => isReady.promise.then(() => this.#replace());
    this.#endReload = reloadOnChange(config.node.modules, replace, reply.note);
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.start()));
    const [first, second] = addresses;
    reply.note(
      `Leader: ${NODES[0]}. Standby: ${NODES[1]} (${second?.url}). Workers: ${WORKERS.join(', ')}.`,
    );
    reply.say(`millrace ready ${first?.url}`);
    reply.answer({ ready: true, url: first?.url, nodes: addresses, workers: WORKERS });
    reply.note(`Dashboard: ${first?.url}/`);
    isReady.resolve();
  }

  #node(name: string, at: number, database: string): ClusterChild {
    const { port, grpcPort, drainMs } = this.#options.config.node;
    const above = (base: number): string => `${base === 0 ? 0 : base + at * PORT_STEP}`;
    return new ClusterChild({
      name,
      args: [
        ...['serve', '--node-id', name, '--slots', '0', '--host', '127.0.0.1'],
        ...['--port', above(port), '--grpc-port', above(grpcPort)],
        ...['--data', join(this.#folder, name)],
      ],
      // Not a flag: it contains a password, and flags are visible to other users.
      environment: { ...process.env, MILLRACE_DATABASE: database, MILLRACE_ROLE: 'auto' },
      drainMs,
      print: (line) => {
        // There is one ready line, and one address for people: that of the cluster.
        if (!/^(millrace ready|Dashboard:) /.test(line)) this.#say(name, line);
      },
    });
  }

  #supervisor(name: string, grpc: string): WorkerSupervisor {
    const { node } = this.#options.config;
    const print = (line: string): void => this.#say(name, line);
    const own = { ...node, data: join(this.#folder, name), host: '127.0.0.1' };
    return new WorkerSupervisor({
      clock: systemClock,
      nodeId: name,
      flagsFor: (nodeId) => workerFlags(own, nodeId, grpc),
      environment: process.env,
      drainMs: node.drainMs,
      say: print,
      print,
    });
  }

  /** One after the other: if the first one fails, the others keep running. */
  async #replace(): Promise<void> {
    for (const supervisor of this.#supervisors) await supervisor.replace();
  }

  /** Workers first, while their reports can still be received; the database last. */
  async #stop(): Promise<void> {
    this.#endReload();
    await Promise.all(this.#supervisors.map((supervisor) => supervisor.stop()));
    for (const node of this.#nodes.toReversed()) await node.stop();
    await this.#postgres?.stop();
  }

  #say(who: string, line: string): void {
    // Their messages about Ctrl-C are expected.
    if (!this.#options.signal.aborted) this.#options.reply.note(`${who.padEnd(COLUMN)} | ${line}`);
  }
}
