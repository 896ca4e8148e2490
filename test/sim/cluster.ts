/** How workers and clients find the leader: they ask one coordinator after another and stay with
 * the one that answered. */
import { isMillraceError } from '../../src/scheduler/core/index.ts';
import type { ErrorCode, MillraceError } from '../../src/scheduler/core/index.ts';
import type { CoordinatorService } from './coordinator.ts';
import { WHIM } from './faulty-store.ts';
import type { Host, Network } from './network.ts';
import type { Life } from './process.ts';

/** Errors that say nothing about the request itself: ask again, maybe elsewhere. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'not_leader',
  'overloaded',
  'loading',
  'store_unavailable',
  'outcome_unknown',
  'deposed',
  'rewound',
  'shutting_down',
]);

export function isPassing(error: unknown): error is MillraceError {
  return isMillraceError(error) && (PASSING.has(error.code) || isWhim(error));
}

/** The simulated store refuses batches at random; what it refuses for a reason is a mistake. */
export function isWhim(error: unknown): boolean {
  if (!isMillraceError(error)) return false;
  return isMillraceError(error.cause, 'bad_row') && error.cause.what === WHIM;
}

export class Cluster {
  readonly #network: Network;
  readonly #hosts: readonly Host<CoordinatorService>[];

  constructor(network: Network, hosts: readonly Host<CoordinatorService>[]) {
    this.#network = network;
    this.#hosts = hosts;
  }

  /** A caller's own idea of who leads. */
  connect(life: Life): Connection {
    return new Connection(this.#network, this.#hosts, life);
  }
}

export class Connection {
  readonly #network: Network;
  readonly #hosts: readonly Host<CoordinatorService>[];
  readonly #life: Life;
  #at = 0;

  constructor(network: Network, hosts: readonly Host<CoordinatorService>[], life: Life) {
    this.#network = network;
    this.#hosts = hosts;
    this.#life = life;
  }

  /** One try. When it fails for a reason that may pass, the next one asks the next coordinator. */
  async ask<T>(
    what: string,
    timeoutMs: number,
    act: (service: CoordinatorService) => Promise<T>,
  ): Promise<T> {
    const at = this.#at;
    const to = this.#hosts[at % this.#hosts.length] as Host<CoordinatorService>;
    try {
      return await this.#network.call({
        from: this.#life,
        to,
        what,
        timeoutMs,
        act: async (service) => act(service),
      });
    } catch (error) {
      if (isPassing(error) && this.#at === at) this.#at = at + 1;
      throw error;
    }
  }
}
