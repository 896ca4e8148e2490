/** What the leader decides while a query runs, from the results of its tasks. */
import type { Json } from '../../../scheduler/core/index.ts';
import { decideFilters, type FilterOutcome } from './decide-filters.ts';
import { decideGroups, type GroupingDecision } from './decide-groups.ts';
import { decideJoin } from './decide-join.ts';

/** `input` is that of a task which the leader completes. `slots` is how many fragments can run at once. */
export function decide(input: Json, slots: number): GroupingDecision | FilterOutcome {
  const has = (field: string): boolean =>
    typeof input === 'object' && input !== null && field in input;
  if (has('filters')) return decideFilters(input);
  return has('fragments') ? decideJoin(input) : decideGroups(input, slots);
}
