/** `sleep` takes `{"ms": NUMBER}` and holds its slot for that long. A handler's `ctx.sleep` does not. */
import { isObject, type Json } from '../../scheduler/core/index.ts';
import { type Clock, sleep } from '../../kit/index.ts';
import type { Executor, TaskContext } from './executor.ts';
import { badInput } from './fields.ts';

export function sleepExecutor(clock: Clock): Executor {
  return {
    name: 'sleep',
    run(input: Json, { signal }: TaskContext): Promise<null> {
      const ms = durationOf(input);
      // Whoever aborts says why, as a MillraceError.
      return sleep(clock, ms, signal).then(() => null);
    },
  };
}

function durationOf(input: Json): number {
  const ms = isObject(input) ? input['ms'] : undefined;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  throw badInput('', 'The input of sleep must be {"ms": NUMBER} with a number of 0 or more.');
}
