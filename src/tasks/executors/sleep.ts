/** `sleep` takes `{"ms": NUMBER}` and holds its slot for so long. A handler's `ctx.sleep` does not. */
import type { Json } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Executor, TaskContext } from './executor.ts';
import { badInput, isObject } from './fields.ts';

export function sleepExecutor(clock: Clock): Executor {
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
  const ms = isObject(input) ? input['ms'] : undefined;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0) return ms;
  throw badInput('', 'sleep takes {"ms": NUMBER} with a number of 0 or more.');
}
