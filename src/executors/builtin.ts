/** The executors that every worker has. */
import type { Json, JsonObject } from '../core/index.ts';
import type { Clock } from '../kit/index.ts';
import type { Executor, TaskContext } from './executor.ts';
import { FatalError } from './failure.ts';

export function builtIns(clock: Clock): readonly Executor[] {
  return [echo, sleepOn(clock)];
}

const echo: Executor = { name: 'echo', run: (input) => input };

function sleepOn(clock: Clock): Executor {
  return {
    name: 'sleep',
    run(input: Json, { signal }: TaskContext): Promise<null> {
      const ms = durationOf(input);
      return new Promise((resolve, reject) => {
        const wake = (): void => {
          cancel();
          // Whoever aborts says why, as a MillraceError.
          // oxlint-disable-next-line typescript/prefer-promise-reject-errors
          reject(signal.reason);
        };
        const cancel = clock.after(ms, () => {
          signal.removeEventListener('abort', wake);
          resolve(null);
        });
        signal.addEventListener('abort', wake, { once: true });
        if (signal.aborted) wake();
      });
    },
  };
}

function durationOf(input: Json): number {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  const ms = isObject ? (input as JsonObject)['ms'] : undefined;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  throw new FatalError('sleep takes {"ms": NUMBER} with a number of 0 or more.');
}
