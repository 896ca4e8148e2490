import { decodeOptions } from '../core/index.ts';
import type { JobImage, Rerun, Seed, TaskNo } from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type { ServiceOptions } from './service-options.ts';

/** The results that came with a job, for tasks that are done when it is admitted: they are needed when it
 * runs again. Most jobs have none, and then nothing is read. */
export async function givenResults(
  { store, shard, settings }: Pick<ServiceOptions, 'store' | 'shard' | 'settings'>,
  { specs }: JobImage,
): Promise<Pick<Rerun, 'seeds'>> {
  const asking = specs.filter(
    ({ options }) => options !== null && decodeOptions(options, settings).admission !== undefined,
  );
  if (asking.length === 0) return {};
  const results = await store.results(shard, asking);
  const seeds = new Map<TaskNo, Seed>();
  for (const { jobNo, taskNo } of asking) {
    const result = results.get(refKey(jobNo, taskNo)) ?? null;
    seeds.set(taskNo, { state: 'succeeded', result });
  }
  return { seeds };
}
