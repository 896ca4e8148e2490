import { MillraceError } from '../../scheduler/core/index.ts';
import type { OutputPlace } from '../plan/index.ts';

/** An output cannot be read: it is missing, truncated or damaged. The leader has it recomputed. */
export class PartitionLostError extends MillraceError {
  readonly task: string;
  readonly fence: number;

  constructor({ task, fence, node }: OutputPlace, why: string, cause?: unknown) {
    super({
      code: 'input_lost',
      what: `The output of ${task} on ${node} cannot be read.`,
      why,
      ...(cause === undefined ? {} : { cause }),
    });
    this.task = task;
    this.fence = fence;
  }
}
