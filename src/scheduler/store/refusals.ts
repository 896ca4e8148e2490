/** What every adapter says in the same words. */
import { MillraceError } from '../core/index.ts';
import type { Term } from './store.ts';

export function deposed(term: Term): MillraceError {
  return new MillraceError({
    code: 'deposed',
    what: `Term ${term.id} (epoch ${term.epoch}) no longer leads shard ${term.shard}.`,
    why: 'Another node took over, or the term was released. Nothing was changed.',
    todo: 'Discard the state in memory and campaign again.',
  });
}

/** `at` is the last commit that the store has. */
export function rewound(term: Term, commitNo: number, at: number): MillraceError {
  return new MillraceError({
    code: 'rewound',
    what: `The store is at commit ${at} of shard ${term.shard}; term ${term.id} has made commit ${commitNo}.`,
    why: 'Its history was rewound: it was restored, or failed over to a replica that lacks the last commits. Nothing was changed.',
    todo: 'Discard the state in memory, campaign again and load the stored state.',
  });
}

export function pastRetention(after: number, first: number): MillraceError {
  return new MillraceError({
    code: 'not_found',
    what: `Events after ${after} are no longer kept; the oldest one is ${first}.`,
    todo: `Read the state again, then follow the events from ${first - 1}.`,
  });
}

export function notEmpty(): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: 'The store is not empty, so nothing was imported.',
    todo: 'Import into a new store.',
  });
}
