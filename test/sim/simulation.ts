/** The whole cluster in one place: coordinators, workers and clients around one store. */
import type { Instant } from '../../src/scheduler/core/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import type { MemoryStore, Store } from '../../src/scheduler/store/index.ts';
import { journaled, openMemoryStore } from '../../src/scheduler/store/index.ts';
import type { Clock } from '../../src/kit/index.ts';
import { Client } from './client.ts';
import { Cluster } from './cluster.ts';
import { Coordinator } from './coordinator.ts';
import { Desertion } from './desertion.ts';
import { ALL_CAPABILITIES, EXECUTORS } from './documents.ts';
import type { Vocabulary } from './documents.ts';
import { STORE, storeThrough } from './faulty-store.ts';
import type { StoreConditions } from './faulty-store.ts';
import { Findings } from './findings.ts';
import { Journal } from './journal.ts';
import { Network } from './network.ts';
import type { SimulationOptions } from './options.ts';
import { OutputNetwork } from './outputs.ts';
import type { Life } from './process.ts';
import { Random } from './random.ts';
import type { Trace } from './trace.ts';
import { FaultInjector } from './fault-injector.ts';
import { Witness } from './witness.ts';
import { Worker } from './worker.ts';
import type { WorkerKind } from './worker.ts';
import { World } from './world.ts';

/** The worker that joins when all faults are over. */
export const ABLE = 'able';

/** A deliberate mistake, put in from outside. */
export interface Sabotage {
  /** What a process takes for the store. */
  readonly store?: (store: Store, simulation: Simulation) => Store;
  readonly leader?: (leader: Leader, simulation: Simulation) => void;
}

export class Simulation {
  readonly options: SimulationOptions;
  readonly random: Random;
  readonly world: World;
  readonly findings: Findings = new Findings();
  readonly journal: Journal = new Journal();
  readonly witness: Witness;
  readonly network: Network;
  readonly outputs: OutputNetwork;
  /** What the checkers look into. */
  readonly store: Store;
  readonly #shared: MemoryStore;
  /** Commits go into a journal, and the tables follow; null where they go into the tables. */
  readonly #foldAfterMs: number | null;
  readonly #defersJobs: boolean;
  readonly conditions: StoreConditions;
  readonly coordinators: readonly Coordinator[];
  readonly workers: Worker[];
  /** Each has the name of a worker. */
  readonly twins: readonly Worker[];
  /** Processes of workers, by the name that they give themselves. */
  readonly #lives: Map<string, Life> = new Map();
  readonly #isOneMachine: boolean;
  readonly clients: readonly Client[];
  readonly faultInjector: FaultInjector;
  readonly #cluster: Cluster;
  readonly #sabotage: Sabotage;
  readonly #desertion: Desertion = new Desertion();
  /** Without it a leader that crashed is replaced when its time is up, as behind a pooler. */
  readonly #seesCrashes: boolean;
  /** When all faults were over. */
  healedAt: Instant | null = null;

  constructor(options: SimulationOptions, trace: Trace, sabotage: Sabotage = {}) {
    this.options = options;
    this.#sabotage = sabotage;
    this.random = new Random(options.seed);
    this.world = new World(trace);
    this.witness = new Witness(this.findings, this.journal);
    this.network = new Network(this.world, this.random.fork('network'), options.network);
    this.outputs = new OutputNetwork(this.network);
    this.conditions = {
      isAway: false,
      lossRate: options.storeLossRate,
      refuseRate: options.storeRefuseRate,
      usualMs: options.storeUsualMs,
      worstMs: options.storeWorstMs,
      timeoutMs: options.settings.leaderTtlMs / 2,
    };
    const tables = openMemoryStore({ now: () => this.world.databaseNow() });
    this.#shared = this.#desertion.wrap(this.journal.wrap(tables, this.world));
    // Two leaders by sabotage would keep taking over from each other.
    const isSound = Object.keys(sabotage).length === 0;
    const dice = this.random.fork('journal');
    this.#foldAfterMs = isSound && dice.chance(0.5) ? dice.pick([1, 100, 1_000, 20_000]) : null;
    this.#defersJobs = dice.chance(0.5);
    this.store = this.#journaled(this.#shared, { after: () => () => {}, monotonicMs: () => 0 });
    this.#seesCrashes = isSound && this.random.fork('crashes').chance(0.5);
    this.coordinators = numbered(options.coordinators, 'c').map((name) => this.#coordinator(name));
    this.#cluster = new Cluster(this.network, this.coordinators);
    const names = numbered(options.workers, 'w');
    this.#isOneMachine = this.random.fork('machine').chance(0.5);
    this.workers = names.map((name, at) => this.#worker(name, at === 0));
    this.twins = options.hasTwin
      ? this.workers.slice(0, 1).map((alike) => this.#worker(alike.name, true, alike))
      : [];
    const words = { ...options.words, nodes: names };
    this.clients = numbered(options.clients, 'client').map((name) => this.#client(name, words));
    this.faultInjector = new FaultInjector({
      world: this.world,
      random: this.random.fork('faults'),
      network: this.network,
      store: this.conditions,
      coordinators: this.coordinators,
      workers: [...this.workers, ...this.twins],
      simulation: options,
      picture: () => this.#picture(tables),
    });
  }

  /** Returns how to take the store back to what it is now. */
  #picture(tables: MemoryStore): () => void {
    const { journal, witness, world } = this;
    const restore = tables.snapshot();
    const picture = journal.picture();
    return () => {
      world.say(STORE, `goes back by ${journal.commits.length - picture.commits} commits`);
      restore();
      journal.rewind(picture);
      witness.rewound(picture.commits);
    };
  }

  #journaled(tables: MemoryStore, clock: Clock): Store {
    const foldAfterMs = this.#foldAfterMs;
    if (foldAfterMs === null) return tables;
    const foldWhenQuietMs = foldAfterMs / 10;
    return journaled(tables, { clock, foldAfterMs, foldWhenQuietMs, defersJobs: this.#defersJobs });
  }

  start(): void {
    const workers = [...this.workers, ...this.twins];
    for (const { process } of [...this.coordinators, ...workers, ...this.clients]) {
      process.start();
    }
    this.faultInjector.begin();
  }

  /** No more faults, and somebody who can do everything. */
  heal(): void {
    this.healedAt = this.world.databaseNow();
    this.faultInjector.heal();
    const able = this.#worker(ABLE, true);
    this.workers.push(able);
    able.process.start();
    // A node that has lost an executor gets it back in the only way there is.
    for (const worker of this.workers) if (worker.isStruck) worker.drain();
  }

  #coordinator(name: string): Coordinator {
    const { world, network, conditions } = this;
    const random = this.random.fork(name);
    return new Coordinator({
      name,
      world,
      random,
      settings: this.options.settings,
      backlogMax: this.options.backlogMax,
      worthBytes: this.options.worthBytes,
      openStore: (life) => {
        const link = { life, world, network, conditions, random: random.fork('store') };
        const plain = storeThrough(link, this.#shared);
        const seen = this.#seesCrashes ? this.#desertion.through(plain, life) : plain;
        const store = this.#journaled(seen, life.clock);
        return this.#sabotage.store?.(store, this) ?? store;
      },
      // Where all are on one machine, anybody can see that a process is gone.
      isProcessGone: (process) => this.#isOneMachine && this.#lives.get(process)?.isOver === true,
      onFault: ({ code, what }) => {
        if (code === 'invariant') this.findings.add('invariants', `${name}: ${what}`);
      },
      onLead: (leader) => this.#sabotage.leader?.(leader, this),
    });
  }

  #worker(name: string, isAble: boolean, alike?: Worker): Worker {
    const random = this.random.fork(alike === undefined ? name : `twin of ${name}`);
    const { options, world, witness, findings, outputs } = this;
    return new Worker({
      name,
      kind: alike?.kind ?? this.#workerKind(name, isAble, random),
      world,
      random,
      witness,
      findings,
      outputs,
      dice: this.random.fork('handlers'),
      settings: options.settings,
      cluster: this.#cluster,
      named: (life) => {
        const known = [...this.#lives].find(([, each]) => each === life)?.[0];
        const process = known ?? `machine:${this.#lives.size + 1}:`;
        this.#lives.set(process, life);
        return process;
      },
      isHealed: () => this.healedAt !== null,
      handlers: () =>
        this.healedAt !== null ? { ...options.handlers, missingRate: 0 } : options.handlers,
    });
  }

  #workerKind(name: string, isAble: boolean, random: Random): WorkerKind {
    const dice = random.fork('kind');
    const memory = random.pick([8, 16, 64]);
    return {
      slots: name === ABLE ? 8 : random.whole(1, this.options.slotsMax),
      prefetch: name === ABLE ? 0 : dice.pick([0, 0, 1, 3, undefined]),
      executors: EXECUTORS.filter((each) => isAble || each !== 'gpu' || random.chance(0.3)),
      capabilities: isAble ? ALL_CAPABILITIES : { memory },
      stuck: dice.pick(['end', 'abandon']),
      callMs: dice.whole(1_000, 6_000),
      settings: {
        drainMs: dice.between(500, 8_000),
        abortGraceMs: dice.between(500, 5_000),
        nameTakenMs: dice.between(5_000, 30_000),
        ...(dice.chance(0.2) ? { unreportedItemsMax: dice.whole(1, 4) } : {}),
        ...(dice.chance(0.3) ? { reportItemsMax: dice.whole(1, 4) } : {}),
        ...(dice.chance(0.1) ? { reportBytesMax: 50 } : {}),
      },
    };
  }

  #client(name: string, words: Vocabulary): Client {
    const { options, world, witness, findings, journal } = this;
    return new Client({
      journal,
      name,
      world,
      random: this.random.fork(name),
      cluster: this.#cluster,
      witness,
      findings,
      words,
      calls: options.callsPerClient,
      pauseMs: options.pauseMs,
      schedules: options.schedules,
      operatesNodes: options.operatesNodes,
    });
  }
}

function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`);
}
