/** A worker process: one session after another, for as long as it lives. */
import type { NodeId, NodeOffer, SessionId, Settings } from '../../src/scheduler/core/index.ts';
import type { BehaviourOptions } from './behaviour.ts';
import type { Cluster } from './cluster.ts';
import type { Findings } from './findings.ts';
import { Process } from './process.ts';
import type { Life } from './process.ts';
import type { Random } from './random.ts';
import type { RetainedOutputs } from './retained-outputs.ts';
import type { Witness } from './witness.ts';
import { WorkerSession } from './worker-session.ts';
import type { World } from './world.ts';

export interface WorkerOptions {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  /** The dice of the handlers: the same for all workers. */
  readonly dice: Random;
  readonly settings: Settings;
  readonly cluster: Cluster;
  readonly witness: Witness;
  readonly findings: Findings;
  readonly retainedOutputs: RetainedOutputs;
  readonly offer: Pick<NodeOffer, 'slots' | 'executors' | 'capabilities'>;
  readonly handlers: () => BehaviourOptions;
  readonly isHealed: () => boolean;
  /** Which process it is, for whoever may look for it. */
  readonly named: (life: Life) => string;
  /** It reported that it lacks an executor: nobody asks it again before it registers anew. */
  readonly onMissing: () => void;
  /** A handler has ended the process. */
  readonly onKilled: () => void;
}

export class Worker {
  readonly process: Process;
  readonly #options: WorkerOptions;
  #session: WorkerSession | null = null;
  /** A struck executor keeps it from some work until it registers anew. */
  isStruck = false;

  constructor(options: Omit<WorkerOptions, 'onMissing' | 'onKilled'>) {
    const { world: around, random: dice } = options;
    this.#options = {
      ...options,
      onMissing: () => this.#strike(),
      onKilled: () => {
        this.process.crash();
        around.after(dice.between(50, 1_000), () => this.process.start());
      },
    };
    const { name, world, random } = options;
    this.process = new Process(name, world, random, (life) => this.#boot(life));
  }

  get name(): string {
    return this.#options.name;
  }

  get nodeId(): NodeId {
    return this.#options.name as NodeId;
  }

  get slots(): number {
    return this.#options.offer.slots;
  }

  get sessionId(): SessionId | null {
    return this.#session?.offer.sessionId ?? null;
  }

  /** After healing it must be able to do everything again, and a new session is the way to that. */
  #strike(): void {
    this.isStruck = true;
    if (this.#options.isHealed()) this.drain();
  }

  /** As if an operator had asked the process to end in good order. */
  drain(): void {
    const { life } = this.process;
    life?.run(() => this.#session?.drain());
  }

  #boot(life: Life): void {
    const { name, world, random, cluster, offer, named } = this.#options;
    this.isStruck = false;
    const session = new WorkerSession(
      this.#options,
      life,
      cluster.connect(life),
      {
        id: name as NodeId,
        sessionId: random.id('s') as SessionId,
        prefetch: 0,
        address: null,
        version: '0',
        ...offer,
        capabilities: { ...offer.capabilities, process: named(life) },
      },
      () => life.clock.after(random.between(100, 2_000), () => this.#boot(life)),
    );
    this.#session = session;
    session.run().catch((error: unknown) => {
      world.say(name, `breaks: ${String(error)}`);
      this.#options.findings.add('refusals', `${name} breaks: ${String(error)}`);
    });
  }
}
