/**
 * Leader election: campaigns, leads, and campaigns again when the term has ended. It tries from time to time, and at
 * once when the store sees that the leader's process is gone. On any doubt it steps down first and asks afterwards.
 * If the term ended without another leader being the cause, it is given back as soon as the store can be reached, so
 * that no candidate has to wait for it to expire.
 */
import { MillraceError } from '../core/index.ts';
import type { NamedBatch, Settings, TermId } from '../core/index.ts';
import { backoffMs } from '../../kit/index.ts';
import type { CommittedEvents } from '../contract/index.ts';
import type { LeaderInfo, Store, Term } from '../store/index.ts';
import { asFault } from './faults.ts';
import { AcknowledgedHistory, type Loss } from './history.ts';
import { Leader } from './leader.ts';
import type { LeaderOptions } from './leader.ts';

export interface LeaderElectionOptions extends Pick<
  LeaderOptions,
  | 'store'
  | 'clock'
  | 'settings'
  | 'calendar'
  | 'isAudited'
  | 'unpackedJobs'
  | 'backlogMax'
  | 'worthBytes'
  | 'measures'
  | 'webhookSecrets'
  | 'webhooks'
  | 'handshake'
  | 'planner'
  | 'isProcessGone'
  | 'onFault'
  | 'onPruneFailed'
> {
  /** Called after every commit, before its answers go out. */
  readonly onCommitted?: (committed: CommittedEvents, rows: NamedBatch) => void;
  readonly shard: number;
  readonly nodeId: string;
  readonly url: string | null;
  readonly grpc: string | null;
  /** A fresh random term id. */
  readonly newTermId: () => TermId;
  /** A fraction in [0, 1) to keep candidates from asking in step. */
  readonly random: () => number;
  readonly onLead?: (leader: Leader) => void;
  /** The store has lost what this process had acknowledged as a leader. */
  readonly onLoss?: (loss: Loss) => void;
  readonly onFollow?: (info: LeaderInfo | null, why: MillraceError | null) => void;
}

export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  #leader: Leader | null = null;
  #isStopped = false;
  #cancelWait: () => void = () => {};
  #watch: AbortController | null = null;
  /** The epoch that was found deserted, for the next campaign. */
  #vacated: number | null = null;
  #ownEpoch: number | null = null;
  /** The highest that was seen, also of others. */
  #seenEpoch = 0;
  /** Terms in a row that ended for a fault before they had lasted a TTL. */
  #shortTerms = 0;
  readonly #history: AcknowledgedHistory = new AcknowledgedHistory();
  #running: Promise<void> | null = null;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  /** The leader here, if this process leads. */
  get leader(): Leader | null {
    return this.#leader;
  }

  start(): void {
    this.#running ??= this.#campaignForEver();
  }

  /** Steps down, gives the term back and stops being a candidate. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.abort();
    this.#cancelWait();
    await this.#leader?.end(stopping());
    await this.#running;
  }

  async #campaignForEver(): Promise<void> {
    while (!this.#isStopped) {
      const waitMs = await this.#campaign();
      // The leader may have been found gone during this campaign. A backoff is kept all the same: a full disk is full
      // for the next term as well.
      const isFree = this.#vacated !== null && this.#shortTerms === 0;
      if (!this.#isStopped && !isFree) await this.#wait(waitMs);
    }
  }

  /** One campaign, and the term that it may win. Returns how long to wait before the next. */
  async #campaign(): Promise<number> {
    const { store, clock, settings, shard, nodeId, url, grpc, newTermId } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const vacated = this.#vacated === null ? {} : { vacated: this.#vacated };
    this.#vacated = null;
    try {
      const ttlMs = settings.leaderTtlMs;
      const own = { nodeId, url, grpc, term: newTermId(), above: this.#seenEpoch };
      const campaign = await store.campaign({ shard, ttlMs, ...own, ...vacated });
      const loss = await this.#lossIn(store);
      if (!campaign.won) {
        this.#seenEpoch = Math.max(this.#seenEpoch, campaign.leader.epoch);
        this.#watchLeader();
        this.#options.onFollow?.(campaign.leader, null);
        return this.#pauseMs(settings, campaign.leader.expiresAt - campaign.now);
      }
      this.#watch?.abort();
      // A term of this very process may have lost its connection for long. The process lives.
      const previous = campaign.previous?.epoch === this.#ownEpoch ? null : campaign.previous;
      this.#ownEpoch = campaign.term.epoch;
      this.#seenEpoch = Math.max(this.#seenEpoch, campaign.term.epoch);
      if (this.#isStopped) {
        // Stopped while it asked: a term of a moment would only be one more change of leaders.
        await this.#resign(campaign.term);
        return 0;
      }
      const why = await this.#leaderTerm(campaign.term, {
        ...campaign,
        previous,
        loss,
        nodeId,
        askedAtMs,
      });
      const isShort = isFault(why) && clock.monotonicMs() - askedAtMs < ttlMs;
      this.#shortTerms = isShort ? this.#shortTerms + 1 : 0;
      return isShort ? this.#backoffMs(settings) : this.#pauseMs(settings, 0);
    } catch (error) {
      this.#options.onFollow?.(null, asFault(error));
      return this.#pauseMs(settings, settings.leaderRenewMs);
    }
  }

  /** Whatever ended the last term: a store that was rewound is seen by what it lacks. */
  async #lossIn(store: Store): Promise<Loss | null> {
    try {
      const loss = await this.#history.compare(store);
      if (loss !== null) this.#options.onLoss?.(loss);
      return loss;
    } catch {
      // The store is away again; the next campaign compares.
      return null;
    }
  }

  /** Until this node leads or stops: one watch at a time, over all pauses. */
  #watchLeader(): void {
    const { store, shard } = this.#options;
    if (this.#watch !== null || this.#isStopped || store.whenVacant === undefined) return;
    const watch = new AbortController();
    this.#watch = watch;
    const over = (epoch: number | null): void => {
      this.#watch = null;
      if (epoch === null || watch.signal.aborted) return;
      this.#vacated = epoch;
      if (this.#shortTerms === 0) this.#cancelWait();
    };
    // Without a watch the pauses remain; the next campaign that is lost starts another.
    store.whenVacant(shard, watch.signal).then(over, () => over(null));
  }

  /** Returns what ended it. */
  async #leaderTerm(term: Term, elected: LeaderOptions['elected']): Promise<MillraceError> {
    const why = await new Promise<MillraceError>((onEnd) => {
      this.#lead(elected, onEnd).catch((error: unknown) => onEnd(asFault(error)));
    });
    const leader = this.#leader;
    this.#leader = null;
    await leader?.end(why);
    const record = leader?.record ?? null;
    if (record !== null) this.#history.ended(record);
    this.#options.onFollow?.(null, why);
    if (why.code !== 'deposed') await this.#resign(term);
    return why;
  }

  async #lead(
    elected: LeaderOptions['elected'],
    onEnd: (why: MillraceError) => void,
  ): Promise<void> {
    const leader = await Leader.start({
      ...this.#options,
      onCommitted: (rows, at) => {
        this.#history.learn(rows);
        this.#options.onCommitted?.({ term: elected.term.id, events: rows.events, at }, rows);
      },
      elected,
      onEnd,
    });
    if (this.#isStopped) return leader.end(stopping());
    this.#leader = leader;
    this.#options.onLead?.(leader);
  }

  /** Retries until the store answers: an own term that is not given back keeps all candidates waiting. */
  async #resign(term: Term): Promise<void> {
    const { store, settings } = this.#options;
    const untilMs = this.#options.clock.monotonicMs() + settings.leaderTtlMs;
    while (this.#options.clock.monotonicMs() < untilMs) {
      try {
        return await store.resign(term);
      } catch {
        // The store is away; the term expires by itself in the end.
        await this.#wait(settings.leaderRenewMs / 4);
      }
    }
  }

  /** Twice as long after each term that came to nothing, up to the TTL, so that all nodes together do not change
   * the leader many times a second while the store refuses to write. */
  #backoffMs({ leaderRenewMs, leaderTtlMs }: Settings): number {
    const range = { firstMs: leaderRenewMs / 4, maxMs: leaderTtlMs };
    return Math.ceil(backoffMs(range, this.#shortTerms, this.#options.random));
  }

  /** Soon after the leader's time is up, and often enough to notice when it resigns. */
  #pauseMs(settings: Settings, expectedMs: number): number {
    const base = Math.min(
      settings.leaderRenewMs,
      Math.max(expectedMs, settings.leaderRenewMs / 10),
    );
    return Math.ceil(base * (0.75 + this.#options.random() / 2));
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve);
      this.#cancelWait = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Faults that the next term may meet as well; the end of a term by another leader or by order is none. */
function isFault({ code }: MillraceError): boolean {
  return code !== 'deposed' && code !== 'rewound' && code !== 'shutting_down';
}

function stopping(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'This leader is shutting down.',
    todo: 'Retry: another node takes over.',
  });
}
