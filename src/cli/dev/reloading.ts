/** New workers for old ones when the code of a module has changed. */
import { relative } from 'node:path';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { systemClock } from '../../kit/index.ts';
import { counted, span } from '../wording.ts';
import { ModuleWatch } from './module-watch.ts';

/** Returns what ends it. */
export function reloadOnChange(
  modules: readonly string[],
  replace: () => Promise<void>,
  say: (line: string) => void,
): () => void {
  if (modules.length === 0) return () => {};
  const watching = new ModuleWatch({
    modules,
    clock: systemClock,
    async onChange(changed) {
      const [first = ''] = changed.map((file) => relative('.', file));
      const others = changed.length - 1;
      const more = others > 0 ? ` and ${counted(others, 'other file')}` : '';
      say(`${first}${more} changed: starting a new worker.`);
      const startedMs = systemClock.monotonicMs();
      try {
        await replace();
        const took = span(systemClock.monotonicMs() - startedMs);
        say(`millrace reloaded in ${took}; the old worker finishes its running tasks.`);
      } catch (error) {
        if (isMillraceError(error, 'shutting_down')) return;
        say(
          'millrace did not reload (the error is above); the old worker keeps running. Fix the module and save it.',
        );
      }
    },
  });
  return () => watching.close();
}
