/** Broken on purpose: what is under way counts before its turn. */
import type { Batch } from '../../src/scheduler/core/index.ts';
import type { Term } from '../../src/scheduler/store/index.ts';
import { intercepted } from './journal.ts';
import type { RunOptions } from './run.ts';
import type { Variant } from './sabotage.ts';
import type { Sabotage } from './simulation.ts';

/** A commit that follows on one that is not answered is said to be there as well, as soon as it is asked for. */
const replyBeforeTurn: Sabotage = {
  store: (store, { world }) => {
    let underWay = 0;
    return intercepted(store, {
      commit: (term: Term, ttlMs: number, batch: Batch) => {
        const answer = store.commit(term, ttlMs, batch);
        underWay += 1;
        const isFirst = underWay === 1;
        answer.then(
          () => (underWay -= 1),
          () => (underWay -= 1),
        );
        return isFirst ? answer : Promise.resolve(world.databaseNow());
      },
    });
  },
};

/** Commits that follow on each other before they are answered, and many that are lost. */
const manyAtOnce: NonNullable<RunOptions['change']> = (drawn) => ({
  ...drawn,
  worthBytes: 1,
  storeUsualMs: 50,
  storeLossRate: 0.02,
});

export const PIPELINE_VARIANTS: readonly Variant[] = [
  {
    name: 'reply before its turn',
    caughtBy: 'replies',
    sabotage: replyBeforeTurn,
    change: manyAtOnce,
  },
];
