/** Faults that come and go during the first phase of a run, and the healing that ends them. */
import type { Coordinator } from './coordinator.ts';
import { STORE } from './faulty-store.ts';
import type { StoreConditions } from './faulty-store.ts';
import { PERFECT_NETWORK } from './network.ts';
import type { Network } from './network.ts';
import type { SimulationOptions } from './options.ts';
import type { Process } from './process.ts';
import type { Random } from './random.ts';
import type { Worker } from './worker.ts';
import type { World } from './world.ts';

export interface FaultInjectorOptions {
  readonly world: World;
  readonly random: Random;
  readonly network: Network;
  readonly store: StoreConditions;
  readonly coordinators: readonly Coordinator[];
  readonly workers: readonly Worker[];
  readonly simulation: SimulationOptions;
  /** Keeps the state of the store; answers how to go back to it. */
  readonly picture: () => () => void;
}

export class FaultInjector {
  readonly #options: FaultInjectorOptions;
  readonly #random: Random;
  readonly #calm: StoreConditions;
  #isOver = false;
  /** One at a time: the state to go back to is always of the history that the store has. */
  #isRewinding = false;

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#calm = { ...options.store };
  }

  begin(): void {
    const { coordinators, workers, simulation } = this.#options;
    const { faults } = simulation;
    const someCoordinator = (): Coordinator => this.#someCoordinator(coordinators);
    const someWorker = (): Worker => this.#random.pick(workers);
    this.#every(faults.crashCoordinatorMs, () => this.#crash(someCoordinator().process));
    this.#every(faults.pauseCoordinatorMs, () => this.#pause(someCoordinator().process));
    this.#every(faults.stopCoordinatorMs, () => someCoordinator().stopGracefully());
    this.#every(faults.crashWorkerMs, () => this.#crashWorker(someWorker()));
    this.#every(faults.pauseWorkerMs, () => this.#pause(someWorker().process));
    this.#every(faults.drainWorkerMs, () => someWorker().drain());
    this.#every(faults.partitionMs, () => this.#partition());
    this.#every(faults.storeOutageMs, () => this.#outage());
    this.#every(faults.slowStoreMs, () => this.#slowStore());
    this.#every(faults.rewindMs, () => this.#rewind());
  }

  /** The end of all faults. What they have left behind is not repaired. */
  heal(): void {
    const { world, network, store, coordinators, workers } = this.#options;
    this.#isOver = true;
    world.say('faults', 'end for good');
    network.cutOff([]);
    network.options = PERFECT_NETWORK;
    Object.assign(store, this.#calm, {
      lossRate: 0,
      refuseRate: 0,
      worstMs: 20,
      usualMs: 5,
      isAway: false,
    });
    for (const { process } of [...coordinators, ...workers]) {
      process.resume();
      process.start();
    }
  }

  /** Mostly the one who leads: it has most to lose. */
  #someCoordinator(all: readonly Coordinator[]): Coordinator {
    const leading = all.find((each) => each.leader !== null);
    return leading !== undefined && this.#random.chance(0.6) ? leading : this.#random.pick(all);
  }

  #every(meanMs: number | null, act: () => void): void {
    if (meanMs === null) return;
    this.#options.world.after(meanMs * this.#random.between(0.2, 1.8), () => {
      if (this.#isOver) return;
      act();
      this.#every(meanMs, act);
    });
  }

  #later(fromMs: number, toMs: number, act: () => void): void {
    this.#options.world.after(this.#random.between(fromMs, toMs), () => {
      if (!this.#isOver) act();
    });
  }

  #crash(process: Process): void {
    process.crash();
    this.#later(50, this.#options.simulation.settings.sessionTtlMs * 1.5, () => process.start());
  }

  #crashWorker(worker: Worker): void {
    const { sessionId } = worker;
    const wasUp = worker.process.isUp;
    this.#crash(worker.process);
    if (!wasUp || sessionId === null || this.#random.chance(0.5)) return;
    // Somebody looked and has proof that the process is gone.
    this.#later(10, 2_000, () => {
      const coordinator = this.#random.pick(this.#options.coordinators);
      const session = { nodeId: worker.nodeId, sessionId };
      coordinator.process.life?.run(() => coordinator.leader?.workers.gone(session));
    });
  }

  #pause(process: Process): void {
    const { leaderTtlMs, sessionTtlMs } = this.#options.simulation.settings;
    process.pause();
    const longMs = this.#random.pick([leaderTtlMs * 0.5, leaderTtlMs * 2, sessionTtlMs * 2]);
    this.#later(100, longMs, () => process.resume());
  }

  #partition(): void {
    const { network, coordinators, workers } = this.#options;
    const names = [...coordinators, ...workers].map(({ process }) => process.name);
    const count = this.#random.whole(1, Math.max(1, names.length - 1));
    const island = this.#random.shuffled(names).slice(0, count);
    if (this.#random.chance(0.3)) island.push(STORE);
    network.cutOff(island);
    const { sessionTtlMs } = this.#options.simulation.settings;
    this.#later(500, sessionTtlMs * 1.5, () => network.cutOff([]));
  }

  #outage(): void {
    const { store, world, simulation } = this.#options;
    store.isAway = true;
    world.say(STORE, 'is away');
    this.#later(200, simulation.settings.leaderTtlMs * 2, () => {
      store.isAway = false;
      world.say(STORE, 'is back');
    });
  }

  /** From a standby that is behind, or from a backup; the processes go on meanwhile. */
  #rewind(): void {
    if (this.#isRewinding) return;
    this.#isRewinding = true;
    const { picture, simulation } = this.#options;
    const restore = picture();
    const longMs = this.#random.pick([500, simulation.settings.sessionTtlMs, 30_000]);
    this.#later(10, longMs, () => {
      this.#isRewinding = false;
      restore();
    });
  }

  #slowStore(): void {
    const { store, world, simulation } = this.#options;
    store.usualMs = this.#calm.usualMs * 20 + 200;
    store.worstMs = simulation.settings.leaderTtlMs * 2;
    world.say(STORE, 'is slow');
    this.#later(1_000, simulation.settings.leaderTtlMs * 2, () => {
      store.usualMs = this.#calm.usualMs;
      store.worstMs = this.#calm.worstMs;
      world.say(STORE, 'is fast again');
    });
  }
}
