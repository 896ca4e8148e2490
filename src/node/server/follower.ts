/** Nodes that never lead: one that only executes, and one that only watches. */
import type { LeaderAddress, Settings } from '../../scheduler/core/index.ts';
import type { LeaderGateway } from '../../scheduler/coordinator/index.ts';
import type { Clock } from '../../kit/index.ts';
import { Replica } from '../../edge/read/index.ts';
import type { ReplicaOptions } from '../../edge/read/index.ts';
import type { Reader } from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { EventFeed, StoreReader } from '../../edge/read/index.ts';
import { LeaderFinder } from './leader-finder.ts';
import type { Part } from './role.ts';

interface FollowerOptions {
  readonly clock: Clock;
  readonly settings: Settings;
  readonly gateway: LeaderGateway;
}

/** Reads the database, and refers everything else to the leader. */
export class Follower implements Part {
  readonly reader: Reader;
  readonly #gateway: LeaderGateway;
  readonly #finder: LeaderFinder;

  constructor(options: FollowerOptions & { readonly store: Store }) {
    const { store, clock } = options;
    this.reader = new StoreReader({ store, feed: new EventFeed({ store, clock }) });
    this.#gateway = options.gateway;
    this.#finder = new LeaderFinder({ ...options, ask: () => store.leader(0) });
  }

  get ready(): Promise<void> {
    return this.#finder.found;
  }

  whoLeads(): LeaderAddress | null {
    return this.#gateway.whoLeads();
  }

  start(): Promise<void> {
    this.#finder.start();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#finder.stop();
    return Promise.resolve();
  }
}

/** Answers from its own copy, also while leader and database are away. */
export class Observer implements Part {
  readonly reader: Replica;
  readonly #gateway: LeaderGateway;
  readonly #finder: LeaderFinder;

  constructor(options: FollowerOptions & Omit<ReplicaOptions, 'clock'>) {
    this.reader = new Replica(options);
    this.#gateway = options.gateway;
    this.#finder = new LeaderFinder({ ...options, ask: () => this.reader.askLeader() });
  }

  get ready(): Promise<void> {
    return this.reader.ready;
  }

  whoLeads(): LeaderAddress | null {
    return this.#gateway.whoLeads();
  }

  async start(): Promise<void> {
    await this.reader.start();
    this.#finder.start();
    this.reader.ready.then(
      // The first look of the finder may have failed: the source was not there yet.
      async () => this.#gateway.refer(await this.reader.leader()),
      // A caller that waits for readiness gets the error.
      () => {},
    );
  }

  async stop(): Promise<void> {
    this.#finder.stop();
    await this.reader.stop();
  }
}
