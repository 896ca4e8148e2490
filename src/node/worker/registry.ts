/** The executors of a worker. */
import {
  ExecutorRegistry,
  builtIns,
  graceWithin,
  loadModule,
} from '../../tasks/executors/index.ts';
import type { ChannelSettings } from './channel.ts';
import type { WorkerProcessSettings } from './process.ts';
import { processClock } from './process-clock.ts';

/** What a worker with these settings can run, without the executors of queries: `openWorker` adds those. */
export async function registryOf(
  settings: Omit<WorkerProcessSettings, keyof ChannelSettings | 'resultBytesMax' | 'expect'>,
): Promise<ExecutorRegistry> {
  const graceMs = graceWithin(settings.abortGraceMs);
  const registry = new ExecutorRegistry({ max: Math.max(1, settings.slots), graceMs });
  for (const executor of builtIns(processClock, settings)) registry.add(executor, 'Millrace');
  for (const file of settings.modules) await loadModule(file, registry);
  return registry;
}
