/**
 * Keeps the schedules that flows declare as the current versions of the flows declare them. It looks when a worker
 * registers, and when the nodes that live are others than before: a deployment that is rolled back ends with a node that
 * goes. What it has done is compared in memory, so workers that all have the same flows cause no writes.
 */
import { schedulesOf } from '../core/index.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { KnownFlows } from './known-flows.ts';
import type { LeaderScheduleService } from './schedule-service.ts';

export interface DeclaredSchedulesOptions {
  readonly dispatcher: Dispatcher;
  readonly flows: KnownFlows;
  readonly schedules: Pick<LeaderScheduleService, 'declare' | 'follow'>;
  /** New ones wait to be resumed. */
  readonly arePaused: boolean;
}

export class DeclaredSchedules {
  readonly #options: DeclaredSchedulesOptions;
  /** The version of each flow whose schedules are there. A new leader knows none. */
  readonly #applied: Map<string, string> = new Map();
  #nodes = '';
  #last: Promise<void> = Promise.resolve();

  constructor(options: DeclaredSchedulesOptions) {
    this.#options = options;
    options.flows.onForget(async (name) => {
      await options.schedules.declare(name, [], { forgets: true });
      this.#applied.delete(name);
    });
  }

  /** A worker has registered, with versions of these flows that were not known. */
  async registered(changed: readonly string[]): Promise<void> {
    if (changed.length > 0) await this.#options.schedules.follow(changed);
    await this.#look();
  }

  /** A worker lives. Cheap while the same ones do. */
  alive(): void {
    const { dispatcher, flows } = this.#options;
    if (flows.scheduling.length === 0) return;
    const nodes = dispatcher.peek((state) =>
      [...state.nodes.values()]
        .filter(({ status }) => status === 'healthy')
        .map(({ sessionId }) => sessionId)
        .join(' '),
    );
    if (nodes === this.#nodes) return;
    this.#nodes = nodes;
    void this.#look();
  }

  /** What fails, because the leader is busy or steps down, is done again with the next heartbeat. */
  #look(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#apply())
      .catch(() => {
        this.#nodes = '';
      });
    return this.#last;
  }

  async #apply(): Promise<void> {
    const { dispatcher, flows, schedules, arePaused } = this.#options;
    const declaring = dispatcher.peek((state) =>
      [...state.schedules.values()].flatMap(({ spec }) =>
        spec.declared === true && spec.flow !== undefined ? [spec.flow] : [],
      ),
    );
    const names = [...new Set([...flows.scheduling, ...declaring])];
    if (names.length === 0) return;
    for (const flow of flows.live(names)) {
      const { name, version } = flow;
      if (this.#applied.get(name) === version) continue;
      const paused = arePaused ? { paused: true as const } : {};
      flows.noteSchedules(name, await schedules.declare(name, schedulesOf(flow), paused));
      this.#applied.set(name, version);
    }
  }
}

/** What hears of workers. */
export type FlowSchedules = Pick<DeclaredSchedules, 'registered' | 'alive'>;
