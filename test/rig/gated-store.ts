import type { Batch, Instant, MillraceError } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Deferred } from '../../src/kit/index.ts';
import type { Store, Term } from '../../src/scheduler/store/index.ts';

/**
 * A store whose commits wait for a nod, or fail on request: before anything is written, or after
 * everything is (the answer of COMMIT was lost).
 */
export interface Gate {
  readonly store: Store;
  /** Batches that reached the store, in order. */
  readonly commits: Batch[];
  /** Commits wait from now on. */
  hold(): void;
  /** Lets the commits that wait go on, and holds no more. */
  release(): void;
  /** The next commit fails; with `applied` it is written all the same. */
  failNext(error: MillraceError, applied?: boolean): void;
  /** Commits that this refuses fail with what it answers. */
  refuseIf(check: (batch: Batch) => MillraceError | null): void;
  /** Loading fails with this from now on. */
  failReads(error: MillraceError): void;
  /** The jobs that wait are not loaded before `release`; `waiting` counts those reads. */
  holdLoads(): { readonly waiting: number; release(): void };
  /** Renewals and commits fail with this until this is reset. */
  cutOff(error: MillraceError | null): void;
}

export function gated(inner: Store): Gate {
  const commits: Batch[] = [];
  let opened: Deferred<void> | null = null;
  let failure: { readonly error: MillraceError; readonly applied: boolean } | null = null;
  let refusal: (batch: Batch) => MillraceError | null = () => null;
  let away: MillraceError | null = null;
  let unreadable: MillraceError | null = null;
  const loads = new HeldLoads(inner);
  const commit = async (term: Term, ttlMs: number, batch: Batch): Promise<Instant> => {
    commits.push(batch);
    await opened?.promise;
    const fail = failure;
    failure = null;
    const refused = away ?? refusal(batch);
    if (refused !== null) throw refused;
    if (fail !== null && !fail.applied) throw fail.error;
    const now = await inner.commit(term, ttlMs, batch);
    if (fail !== null) throw fail.error;
    return now;
  };
  const renew = async (term: Term, ttlMs: number, commitNo: number): Promise<Instant> => {
    await opened?.promise;
    if (away !== null) throw away;
    return inner.renew(term, ttlMs, commitNo);
  };
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'commit') return commit;
      if (name === 'renew') return renew;
      if (name === 'loadCluster' && unreadable !== null) {
        const error = unreadable;
        return () => Promise.reject(error);
      }
      if (name === 'loadJobs') return loads.loadJobs;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    store,
    commits,
    hold: () => {
      opened ??= deferred();
    },
    release: () => {
      opened?.resolve();
      opened = null;
    },
    failNext: (error, applied = false) => {
      failure = { error, applied };
    },
    refuseIf: (check) => {
      refusal = check;
    },
    failReads: (error) => {
      unreadable = error;
    },
    holdLoads: () => loads.hold(),
    cutOff: (error) => {
      away = error;
    },
  };
}

/** Loads the waiting jobs only when it is released. */
class HeldLoads {
  readonly #inner: Store;
  #held: { waiting: number; readonly opened: Deferred<void> } | null = null;

  constructor(inner: Store) {
    this.#inner = inner;
  }

  readonly loadJobs: Store['loadJobs'] = async (...portion) => {
    if (this.#held !== null) this.#held.waiting += 1;
    await this.#held?.opened.promise;
    return this.#inner.loadJobs(...portion);
  };

  hold(): ReturnType<Gate['holdLoads']> {
    const held = { waiting: 0, opened: deferred() };
    this.#held = held;
    return {
      get waiting() {
        return held.waiting;
      },
      release: () => {
        this.#held = null;
        held.opened.resolve();
      },
    };
  }
}
