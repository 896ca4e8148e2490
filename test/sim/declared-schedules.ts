import type { JsonObject } from '../../src/scheduler/core/index.ts';
import { draftJob } from './documents.ts';
import type { Vocabulary } from './documents.ts';
import type { Random } from './random.ts';

/** What the leader does when workers with another version of a flow register. Some ids are also used by others. */
export function draftDeclared(
  random: Random,
  words: Vocabulary,
): {
  readonly flow: string;
  readonly schedules: readonly (JsonObject & { readonly id: string })[];
} {
  const ids = ['sch1', 'own1', 'own2'].filter(() => random.chance(0.5));
  const schedules = ids.map((id) => ({
    id,
    everyMs: random.whole(1_000, 15_000),
    document: draftJob(random, {
      ...words,
      tasksMax: 2,
      keyRate: 0,
      debounceRate: 0,
    }) as JsonObject,
  }));
  return { flow: random.pick(['flow-a', 'flow-b']), schedules };
}
