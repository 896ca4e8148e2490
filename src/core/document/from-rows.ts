/** Back from rows to the document they were made from, for a fork. */
import { decodeDependencies } from '../job/edges.ts';
import type { JobRow, TaskSpecRow } from '../rows.ts';
import type { Settings } from '../settings.ts';
import type { JobDocument } from './document.ts';
import { decodeOptions } from './options.ts';

/** `specs` in task number order, with their inputs. The idempotency key stays with the original. */
export function documentFromRows(
  job: JobRow,
  specs: readonly TaskSpecRow[],
  settings: Settings,
): JobDocument {
  const { name, priority, maxParallel, onFailure, totalMs } = job;
  return {
    name,
    priority,
    maxParallel,
    onFailure,
    totalMs,
    idempotencyKey: null,
    tasks: specs.map((spec) => ({
      id: spec.id,
      executor: spec.executor,
      priority: spec.priority,
      parent: spec.parentNo,
      dependsOn: decodeDependencies(spec.dependsOn),
      idempotencyKey: spec.idempotencyKey,
      options: decodeOptions(spec.options, settings),
      input: spec.input,
    })),
  };
}
