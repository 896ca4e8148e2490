/** What the variants have in common: see `variants.ts`. */
import type { Batch } from '../../src/scheduler/core/index.ts';
import type { Term } from '../../src/scheduler/store/index.ts';
import { intercepted } from './journal.ts';
import type { RunOptions } from './run.ts';
import type { Sabotage } from './simulation.ts';

export interface Variant {
  readonly name: string;
  /** The rule that must be found broken. */
  readonly caughtBy: string;
  readonly sabotage: Sabotage;
  /** Where it shows soonest. */
  readonly change?: RunOptions['change'];
  /** The first seed to try; 1 if not given. It saves time, and nothing depends on it. */
  readonly from?: number;
}

/** Every commit of a process goes through `change` first. */
export function onCommit(change: (batch: Batch) => Batch): Sabotage {
  return {
    store: (store) =>
      intercepted(store, {
        commit: (term: Term, ttlMs: number, batch: Batch) =>
          store.commit(term, ttlMs, change(batch)),
      }),
  };
}

/** On the object itself, so that the class stays as it is. */
export function patch<T extends object, K extends keyof T & string>(
  object: T,
  name: K,
  method: T[K],
): void {
  Object.defineProperty(object, name, { value: method });
}
