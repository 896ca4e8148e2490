/** How long work stands still when a process dies or is stopped, with default settings. */
import { HttpClient } from '../src/client/index.ts';
import type { JobId } from '../src/scheduler/core/index.ts';
import { pause } from './cluster/contender.ts';
import { BenchDatabase } from './cluster/database.ts';
import { Folder, jobOf, newPlace, startLeader, startWorker } from './cluster/node.ts';
import type { Place, RunningNode } from './cluster/node.ts';
import type { BenchProcess } from './cluster/processes.ts';
import { STAMP_TASKS, Stamps, millisBetween } from './cluster/stamps.ts';
import type { Stamp } from './cluster/stamps.ts';
import { figure } from './figures.ts';
import type { Benchmark, Figure } from './figures.ts';

const SLOTS = 4;
/** Longer than the leader's renewal and a heartbeat, so that each round falls anywhere between two. */
const REST_MS = 4_000;

export const failover: Benchmark = {
  name: 'failover',
  summary: 'seconds that work stands still after a process was killed or stopped, default settings',
  settings: {
    cluster: `2 nodes that may lead, 2 workers with ${SLOTS} slots, default settings`,
    'next assignment':
      'a job submitted right after by a client that knows both nodes; its handler starts',
    postgres: 'fsync on, defaults otherwise',
  },
  async run(quick, say) {
    const rounds = quick ? 1 : 7;
    const restMs = quick ? 1_000 : REST_MS;
    const database = await BenchDatabase.start('plain');
    const stamps = await Stamps.open();
    const folder = new Folder();
    const scene = new Scene(await database.create('millrace'), stamps, folder);
    const killed: number[] = [];
    const lost: number[] = [];
    const stopped: number[] = [];
    try {
      await scene.start();
      for (let round = 1; round <= rounds; round += 1) {
        await pause(restMs * (1 + Math.random()));
        killed.push(await scene.leaderGoes('crash'));
        await pause(restMs * (1 + Math.random()));
        lost.push(await scene.workerCrashes(restMs * Math.random()));
        await pause(restMs * (1 + Math.random()));
        stopped.push(await scene.leaderGoes('end'));
        const last = [killed, lost, stopped].map((each) => `${each.at(-1)?.toFixed(2)} s`);
        say(`  round ${round} of ${rounds}: ${last.join(', ')}`);
      }
      await scene.audit();
      return [
        ...medianAndMax('leader killed -> next assignment', killed),
        ...medianAndMax('worker killed -> its task runs again', lost),
        ...medianAndMax('leader stopped in order -> next assignment', stopped),
      ];
    } finally {
      await scene.close();
      await database.stop();
      stamps.close();
      folder.remove();
    }
  },
};

function medianAndMax(name: string, seconds: readonly number[]): readonly Figure[] {
  return [
    figure(`${name}, median`, 's', seconds),
    figure(`${name}, longest`, 's', [Math.max(...seconds)]),
  ];
}

/** Two nodes of which one leads, and two workers. */
class Scene {
  readonly #database: string;
  readonly #stamps: Stamps;
  readonly #folder: Folder;
  readonly #workers: Map<string, BenchProcess> = new Map();
  readonly #jobs: JobId[] = [];
  #nodes: RunningNode[] = [];
  #http: HttpClient | null = null;
  #keys = 0;

  constructor(database: string, stamps: Stamps, folder: Folder) {
    this.#database = database;
    this.#stamps = stamps;
    this.#folder = folder;
  }

  async start(): Promise<void> {
    for (let at = 0; at < 2; at += 1) await this.#startNode(await newPlace());
    for (const name of ['w-1', 'w-2']) await this.#startWorker(name);
    this.#http = new HttpClient({ server: this.#nodes.map(({ url }) => url).join(',') });
    await this.#submit('stamp');
  }

  /** Seconds until a job that is submitted then begins. The node comes back afterwards. */
  async leaderGoes(how: 'crash' | 'end'): Promise<number> {
    const leader = await this.#leader();
    const goneAt = process.hrtime.bigint();
    const gone = how === 'crash' ? leader.process.crash() : leader.process.end();
    const { at } = await this.#submit('stamp');
    await gone;
    this.#nodes = this.#nodes.filter((node) => node !== leader);
    await this.#startNode(leader);
    return millisBetween(goneAt, at) / 1_000;
  }

  /** Seconds until a task, `afterMs` old, begins on the other one. The worker comes back afterwards. */
  async workerCrashes(afterMs: number): Promise<number> {
    const { key, pid } = await this.#submit('hold');
    const found = [...this.#workers].find(([, worker]) => worker.pid === pid);
    if (found === undefined) throw new Error('The task runs on no worker of ours.');
    const [name, worker] = found;
    await pause(afterMs);
    const again = this.#stamps.next(key);
    const goneAt = process.hrtime.bigint();
    await worker.crash();
    const { at } = await again;
    await this.#startWorker(name);
    return millisBetween(goneAt, at) / 1_000;
  }

  /** Whatever died, every job came to its end. */
  async audit(): Promise<void> {
    for (const id of this.#jobs) {
      const { state } = await this.#client.ended(id);
      if (state !== 'succeeded') throw new Error(`The audit failed: job ${id} ${state}.`);
    }
  }

  async close(): Promise<void> {
    this.#http?.end();
    for (const worker of this.#workers.values()) await worker.end();
    for (const { process } of this.#nodes) await process.end();
  }

  get #client(): HttpClient {
    if (this.#http === null) throw new Error('not started');
    return this.#http;
  }

  /** Submits a job and waits until it begins. */
  async #submit(executor: 'stamp' | 'hold'): Promise<Stamp & { readonly key: string }> {
    this.#keys += 1;
    const key = `${executor}-${this.#keys}`;
    const begun = this.#stamps.next(key);
    const [stamp, { id }] = await Promise.all([
      begun,
      this.#client.submitDocument(jobOf(executor, { key })),
    ]);
    this.#jobs.push(id);
    return { ...stamp, key };
  }

  async #leader(): Promise<RunningNode> {
    const { grpc } = await this.#client.leader();
    const leader = this.#nodes.find((node) => node.grpc === grpc);
    if (leader === undefined) throw new Error(`Nobody of ours leads, but ${grpc}.`);
    return leader;
  }

  async #startNode(place: Place): Promise<void> {
    const { port, grpcPort, url, grpc } = place;
    const at = { port, grpcPort, url, grpc };
    const known = { database: this.#database, folder: this.#folder };
    this.#nodes.push(await startLeader({ ...known, place: at }));
  }

  async #startWorker(nodeId: string): Promise<void> {
    const servers = this.#nodes.map(({ grpc }) => grpc);
    const { environment } = this.#stamps;
    const known = { servers, nodeId, slots: SLOTS, folder: this.#folder, environment };
    this.#workers.set(nodeId, await startWorker({ ...known, module: STAMP_TASKS }));
  }
}
