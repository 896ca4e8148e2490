/**
 * A leader from its election to its end: memory read back, events dispatched, callers served at
 * its desks. Everything the network rooms need of a leader goes through here.
 */
import { announceReign } from '../core/index.ts';
import type { Calendar, Instant, MillraceError, Settings } from '../core/index.ts';
import type { Clock } from '../kit/index.ts';
import type { Store, Term } from '../store/index.ts';
import { Dispatcher } from './dispatcher.ts';
import { asFault } from './faults.ts';
import { Housekeeping } from './housekeeping.ts';
import { JobDesk } from './job-desk.ts';
import { loadAll, loadFirst, loadRest, renewing } from './loading.ts';
import { Payloads } from './payloads.ts';
import { Reign } from './reign.ts';
import { ScheduleDesk } from './schedule-desk.ts';
import { WorkerDesk } from './worker-desk.ts';

export interface LeaderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly calendar: Calendar;
  readonly elected: Elected;
  /** The reign is over, for this reason; called once. */
  readonly onEnd: (why: MillraceError) => void;
  /** Events that may wait for the store before callers are told that it is too much. */
  readonly backlogMax?: number;
}

export interface Elected {
  readonly term: Term;
  readonly nodeId: string;
  readonly now: Instant;
  /** Monotonic time before the vote was sent: trust counts from here. */
  readonly askedAtMs: number;
}

export class Leader {
  readonly term: Term;
  readonly jobs: JobDesk;
  readonly workers: WorkerDesk;
  readonly schedules: ScheduleDesk;
  /** Settles when every live job is in memory, or the reign has ended. */
  readonly loaded: Promise<void>;
  readonly #dispatcher: Dispatcher;

  /** Reads back what is needed to serve, then serves; the rest streams in behind. */
  static async start(options: LeaderOptions): Promise<Leader> {
    const { store, clock, settings, calendar, elected } = options;
    const reign = new Reign(store, clock, settings, elected);
    const load = { store, reign, scheduler: { settings, calendar } };
    const memory = await renewing(load, clock, () => loadFirst(load));
    const { nodeId, term } = elected;
    const announced = { epoch: term.epoch, nodeId };
    announceReign(memory.state, announced, reign.time.now(), memory.effects);
    const housekeeping = new Housekeeping(store, clock, settings, term);
    const dispatcher = new Dispatcher({
      store,
      clock,
      reign,
      memory,
      reload: () => renewing(load, clock, () => loadAll(load)),
      onEnd: (why) => {
        housekeeping.stop();
        options.onEnd(why);
      },
      ...(options.backlogMax === undefined ? {} : { backlogMax: options.backlogMax }),
    });
    // A leader that knows only some of the jobs would leave the others waiting for ever.
    const loaded = loadRest(load, dispatcher).catch((error: unknown) =>
      dispatcher.end(asFault(error)),
    );
    return new Leader(options, dispatcher, loaded);
  }

  private constructor(options: LeaderOptions, dispatcher: Dispatcher, loaded: Promise<void>) {
    const { store, settings, calendar, elected } = options;
    const { shard } = elected.term;
    const desk = { store, shard, settings, dispatcher, payloads: new Payloads(store, shard) };
    this.term = elected.term;
    this.jobs = new JobDesk(desk);
    this.workers = new WorkerDesk(desk);
    this.schedules = new ScheduleDesk(desk, calendar);
    this.loaded = loaded;
    this.#dispatcher = dispatcher;
  }

  /** Events that wait for the store. */
  get backlog(): number {
    return this.#dispatcher.backlog;
  }

  /** Serves no more. Settles when nothing is in flight, so that the term can be resigned. */
  end(why: MillraceError): Promise<void> {
    return this.#dispatcher.end(why);
  }
}
