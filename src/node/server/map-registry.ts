/** What the leader knows of map outputs that workers tell it of. The data stays with them. */
import type { JobId } from '../../scheduler/core/index.ts';
import type { ShuffleSource } from '../../scheduler/contract/index.ts';
import { MapOutputs, shuffleSource } from '../../sql/shuffle/index.ts';

/** Queries that are over are looked for when so many are known. */
const LOOK_AT = 64;

export interface MapRegistryOptions {
  /** Throws `not_leader` where somebody else leads. */
  readonly isLive: (query: JobId) => boolean;
}

export function mapRegistry({ isLive }: MapRegistryOptions): ShuffleSource {
  const outputs = new MapOutputs();
  const known = new Set<JobId>();
  const source = shuffleSource({ outputs, find: () => null });
  const forgetEnded = (): void => {
    for (const query of known) {
      if (isLive(query)) continue;
      outputs.forget(query);
      known.delete(query);
    }
  };
  return {
    register(output) {
      // Of a query that is over nobody wants to know: the worker need not hear of it.
      if (!isLive(output.query)) return;
      if (known.size >= LOOK_AT) forgetEnded();
      source.register(output);
      known.add(output.query);
    },
    fetch: (range, signal) => source.fetch(range, signal),
  };
}
