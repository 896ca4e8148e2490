/** A coordinator process: the real election with the real leader, on a simulated clock and store. */
import { MillraceError } from '../../src/scheduler/core/index.ts';
import type { Settings, TermId } from '../../src/scheduler/core/index.ts';
import { LeaderElection, cronCalendar } from '../../src/scheduler/coordinator/index.ts';
import type { Leader } from '../../src/scheduler/coordinator/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import type { Host } from './network.ts';
import { Process } from './process.ts';
import type { Life } from './process.ts';
import { simulatedPlanner } from './queries.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** What callers find at a coordinator. */
export interface CoordinatorService {
  /** The leader here; throws `not_leader` when this process does not lead. */
  readonly leader: () => Leader;
  /** Long polls are answered after this long, with work or without. */
  readonly parkMs: number;
  readonly life: Life;
}

export interface CoordinatorOptions {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  readonly settings: Settings;
  readonly backlogMax: number;
  readonly worthBytes: number;
  readonly openStore: (life: Life) => Store;
  readonly onLead: (leader: Leader) => void;
  readonly isProcessGone: (process: string) => boolean;
  /** A fault of the program itself: it heals by loading its state again, and is a bug all the same. */
  readonly onFault: (fault: MillraceError) => void;
}

export class Coordinator implements Host<CoordinatorService> {
  readonly process: Process;
  readonly #options: CoordinatorOptions;
  #election: LeaderElection | null = null;
  service: CoordinatorService | null = null;

  constructor(options: CoordinatorOptions) {
    const { name, world, random } = options;
    this.#options = options;
    this.process = new Process(name, world, random, (life) => this.#boot(life));
  }

  get leader(): Leader | null {
    return this.process.isUp ? (this.#election?.leader ?? null) : null;
  }

  /** Steps down in good order; the process then starts anew. */
  stopGracefully(): void {
    const life = this.process.life;
    if (life === null) return;
    this.#options.world.say(this.process.name, 'is asked to stop');
    this.#election?.stop().then(
      () => {
        if (this.process.life !== life) return;
        this.process.crash();
        this.#options.world.after(500, () => this.process.start());
      },
      () => {},
    );
  }

  #boot(life: Life): void {
    const { name, world, random, settings, backlogMax, worthBytes, openStore, onLead } =
      this.#options;
    const { isProcessGone, onFault } = this.#options;
    const election = new LeaderElection({
      store: openStore(life),
      clock: life.clock,
      settings,
      backlogMax,
      worthBytes,
      calendar: cronCalendar,
      isAudited: true,
      unpackedJobs: 1,
      planner: simulatedPlanner(life, random.fork('planner')),
      shard: 0,
      nodeId: name,
      isProcessGone,
      onFault,
      url: null,
      grpc: null,
      newTermId: () => random.id('term') as TermId,
      random: () => random.fraction(),
      onLead: (leader) => {
        world.say(name, `leads, epoch ${leader.term.epoch}`);
        onLead(leader);
      },
      onFollow: (info, why) => {
        if (why !== null) {
          world.say(name, `follows: ${why.code} ${why.what}`);
          if (why.code === 'invariant') onFault(why);
        } else if (info !== null) world.say(name, `follows ${info.nodeId}`);
      },
    });
    this.#election = election;
    this.service = {
      life,
      parkMs: settings.heartbeatMs * 2,
      leader: () => election.leader ?? refuse(name),
    };
    election.start();
  }
}

function refuse(name: string): never {
  throw new MillraceError({ code: 'not_leader', what: `${name} does not lead.` });
}
