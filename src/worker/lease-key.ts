import type { LeaseName } from '../core/index.ts';

/** A lease as one text, to look it up by. */
export function leaseKey({ jobNo, taskNo, fence, term }: LeaseName): string {
  return `${jobNo}/${taskNo}/${fence}/${term}`;
}
