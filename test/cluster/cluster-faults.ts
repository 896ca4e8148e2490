/** Faults of every kind, drawn from a seed, over a cluster whose every wire can be cut. */
import { fraction } from '../../src/scheduler/core/index.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import type { LossyDatabase } from '../rig/cluster/lost-answer.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

type Mend = () => Promise<void>;

interface Fault {
  readonly name: string;
  /** The process that it is about: one thing at a time happens to it. */
  readonly about?: string;
  /** Brings it about; the answer heals it. */
  readonly strike: () => Promise<Mend>;
}

const HEALED: Mend = async () => {};

/** The same numbers for the same seed; whoever draws beside others has a stream of his own. */
export class Dice {
  readonly #seed: number;
  readonly #stream: number;
  #drawn = 0;

  constructor(seed: number, stream: number) {
    this.#seed = seed;
    this.#stream = stream;
  }

  /** A whole number below `limit`. */
  draw(limit: number): number {
    this.#drawn += 1;
    return Math.floor(fraction(this.#seed, this.#stream, this.#drawn) * limit);
  }

  pick<T>(from: readonly T[]): T {
    const picked = from[this.draw(from.length)];
    if (picked === undefined) throw new Error('nothing to choose from');
    return picked;
  }
}

export class FaultInjector {
  readonly #dice: Dice;
  readonly #fixture: TestCluster;
  /** The way of each node to the database. */
  readonly #wires: ReadonlyMap<string, LossyDatabase>;
  /** What is broken, oldest first, and the process that it is about. */
  readonly #open: Map<Mend, string | undefined> = new Map();
  /** What happened, in order. */
  readonly diary: string[] = [];

  constructor(dice: Dice, fixture: TestCluster, wires: ReadonlyMap<string, LossyDatabase>) {
    this.#dice = dice;
    this.#fixture = fixture;
    this.#wires = wires;
  }

  /** One more fault; at most two hold at a time. */
  async change(): Promise<void> {
    if (this.#open.size >= 2) await this.#mendOldest();
    const struck = new Set(this.#open.values());
    const possible = this.#faults().filter(
      ({ about }) => about === undefined || !struck.has(about),
    );
    const { name, strike, about } = this.#dice.pick(possible);
    this.diary.push(name);
    const mend = await strike();
    if (mend !== HEALED) this.#open.set(mend, about);
    if (this.#dice.draw(2) === 0) await this.#mendOldest();
  }

  /** All is well again. */
  async clear(): Promise<void> {
    while (this.#open.size > 0) await this.#mendOldest();
    const { nodes, workers } = this.#fixture.cluster;
    const down = [...nodes, ...workers].filter(({ isRunning }) => !isRunning);
    await Promise.all(down.map((node) => node.start(60_000)));
  }

  async #mendOldest(): Promise<void> {
    const [oldest] = this.#open.keys();
    if (oldest === undefined) return;
    this.#open.delete(oldest);
    await oldest();
  }

  #faults(): readonly Fault[] {
    const { nodes, workers } = this.#fixture.cluster;
    const up = [...nodes, ...workers].filter(({ isRunning }) => isRunning);
    const serving = nodes.filter(({ isRunning }) => isRunning);
    return [
      ...up.flatMap((node) => [this.#killed(node), this.#paused(node), this.#ended(node)]),
      ...serving.flatMap((node) => [...this.#cutOff(node), ...this.#unreachable(node)]),
      this.#terminated(),
    ];
  }

  #killed(node: ClusterNode): Fault {
    const strike = async (): Promise<Mend> => {
      await node.process.crash();
      return () => started(node);
    };
    return { name: `kill ${node.id}`, about: node.id, strike };
  }

  #paused(node: ClusterNode): Fault {
    const strike = async (): Promise<Mend> => {
      const { process } = node;
      process.pause();
      return async () => process.resume();
    };
    return { name: `pause ${node.id}`, about: node.id, strike };
  }

  /** It ends in order whatever else is broken; that may take the time of several limits. */
  #ended(node: ClusterNode): Fault {
    const strike = async (): Promise<Mend> => {
      node.process.kill('SIGTERM');
      return async () => {
        await node.process.stop(60_000);
        await started(node);
      };
    };
    return { name: `end ${node.id}`, about: node.id, strike };
  }

  #cutOff({ id }: ClusterNode): readonly Fault[] {
    const wire = this.#wires.get(id);
    if (wire === undefined) return [];
    const { proxy } = wire;
    const directions = ['both', 'answers', 'requests'] as const;
    const silences = directions.map((direction) => ({
      name: `silence between ${id} and the database (${direction})`,
      strike: async (): Promise<Mend> => {
        proxy.drop(direction);
        return () => proxy.heal();
      },
    }));
    const cut = async (): Promise<Mend> => {
      proxy.cut();
      return HEALED;
    };
    const lose = async (): Promise<Mend> => {
      // Whenever it commits next; a node that does not lead never does.
      void wire.loseAnswer();
      return HEALED;
    };
    return [
      ...silences,
      { name: `reset between ${id} and the database`, strike: cut },
      { name: `answer of a commit of ${id} lost`, strike: lose },
    ];
  }

  #unreachable({ id, plan }: ClusterNode): readonly Fault[] {
    const { ways } = plan;
    if (ways === null) return [];
    const silence = async (): Promise<Mend> => {
      ways.grpc.drop();
      return () => ways.grpc.heal();
    };
    const cut = async (): Promise<Mend> => {
      ways.grpc.cut();
      ways.http?.cut();
      return HEALED;
    };
    return [
      { name: `silence between ${id} and the workers`, strike: silence },
      { name: `resets at ${id}`, strike: cut },
    ];
  }

  #terminated(): Fault {
    const strike = async (): Promise<Mend> => {
      await this.#fixture.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'millrace'`;
      return HEALED;
    };
    return { name: 'all connections of the database ended', strike };
  }
}

async function started(node: ClusterNode): Promise<void> {
  // It is ready when the rest of the faults lets it; whoever needs it asks again.
  if (!node.isRunning) node.launch();
}
