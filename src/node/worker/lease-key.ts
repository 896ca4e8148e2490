import type { LeaseName } from '../../scheduler/core/index.ts';

/** A lease as one text, to look it up by. */
export function leaseKey({ jobId, taskNo, fence, term }: LeaseName): string {
  return `${jobId}/${taskNo}/${fence}/${term}`;
}
