import { decodeJobOptions } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** A job of a batch that has succeeded was given to a handler: its items are among those that the handler got. */
export function checkBatches({ tables, findings }: Evidence): void {
  for (const { no, id, options } of tables.jobs.values()) {
    const task = tables.tasks.get(`${no}/0`);
    if (decodeJobOptions(options).batch === null || task?.state !== 'succeeded') continue;
    const given = JSON.parse(tables.specs.get(`${no}/0`)?.input ?? '[]') as readonly unknown[];
    const body = tables.results.get(`${no}/0/${task.run}`)?.body ?? 'null';
    const items = (JSON.parse(body) as { readonly items?: readonly unknown[] } | null)?.items ?? [];
    const lost = given.filter((item) => !items.includes(item));
    if (lost.length > 0) findings.add('batches', `${id} has succeeded without its ${lost.join()}`);
  }
}
