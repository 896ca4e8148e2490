import type { Batch, Instant, MillraceError } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Deferred } from '../../src/kit/index.ts';
import type { Store, Term } from '../../src/scheduler/store/index.ts';

/** A commit that was asked for and is not answered. */
export interface HeldCommit {
  readonly batch: Batch;
  /** The store makes it, or refuses it. Nobody hears of that before `answer`. */
  make(): Promise<void>;
  /** What the store has said. */
  answer(): void;
  /** Something else is heard, whether it was made or not. */
  fail(error: MillraceError): void;
}

/** A store whose commits are made and answered one by one, as the test says, in any order. */
export interface Holding {
  readonly store: Store;
  /** Oldest first, also those that were answered. */
  readonly held: HeldCommit[];
  /** From now on; before, commits go through. */
  begin(): void;
  /** From now on they go through again. */
  end(): void;
}

export function holdingCommits(inner: Store): Holding {
  const held: HeldCommit[] = [];
  const commit = (term: Term, ttlMs: number, batch: Batch): Promise<Instant> => {
    const heard: Deferred<Instant> = deferred();
    let said: () => void = () => heard.reject(new Error('it was not made'));
    held.push({
      batch,
      make: () =>
        inner.commit(term, ttlMs, batch).then(
          (at) => void (said = () => heard.resolve(at)),
          (error: unknown) => void (said = () => heard.reject(error)),
        ),
      answer: () => said(),
      fail: (error) => heard.reject(error),
    });
    return heard.promise;
  };
  let isHolding = false;
  const store = new Proxy(inner, {
    get(target, name) {
      if (name === 'commit' && isHolding) return commit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return {
    store,
    held,
    begin: () => void (isHolding = true),
    end: () => void (isHolding = false),
  };
}
