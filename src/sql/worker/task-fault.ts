/** How a failed fragment is reported to the leader: retryable, fatal, or waiting for lost inputs. */
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, TaskId } from '../../scheduler/core/index.ts';
import { InputLostError, TaskFailure, attemptHooksOf } from '../../tasks/executors/index.ts';
import type { TaskContext } from '../../tasks/executors/index.ts';
import { PartitionLostError } from '../shuffle/index.ts';

/** Recorded for the next attempt: this one ran out of memory or disk space. */
type Shortage = 'out_of_memory' | 'disk_full';

/** Another attempt, on this node or another one, may succeed. All other codes are fatal. */
const WORTH_ANOTHER_TRY: ReadonlySet<ErrorCode> = new Set([
  'engine_crashed',
  'operator_failed',
  // An input file disappeared while it was read: the next attempt finds out which one.
  'input_lost',
  'unreachable',
  'overloaded',
  'shutting_down',
  'conflict',
  'invariant',
  'unauthenticated',
  'forbidden',
]);

/** Returns the error to throw instead. */
export async function taskFault(error: unknown, context: TaskContext): Promise<unknown> {
  // It was aborted, and whoever aborted it knows why.
  if (context.signal.aborted) return error;
  if (error instanceof PartitionLostError) {
    const lost = [{ taskId: error.task as TaskId, fence: error.fence }];
    return new InputLostError(lost, error.message, error);
  }
  // The disk of this node is full, but others may have space, so it is retried like any failure.
  if (isShortOfDisk(error)) {
    const message = `There is no space left on the disk: ${error.message}`;
    return new TaskFailure('disk_full', 'retryable', message);
  }
  if (!isMillraceError(error)) return error;
  const { code, message } = error;
  if (isDiskFull(error)) return new TaskFailure(code, 'retryable', message);
  if (code === 'out_of_memory' || code === 'disk_full') return shortage(code, message, context);
  return new TaskFailure(code, WORTH_ANOTHER_TRY.has(code) ? 'retryable' : 'fatal', message);
}

/** The first time is retried, with twice the memory and perhaps elsewhere; the second time is fatal. */
async function shortage(
  code: Shortage,
  message: string,
  context: TaskContext,
): Promise<TaskFailure> {
  let isFirst = false;
  await context.step(code, () => {
    isFirst = true;
    return true;
  });
  return new TaskFailure(code, isFirst ? 'retryable' : 'fatal', message);
}

/** Whether an earlier attempt of this run has recorded it. */
export function hasStep(context: TaskContext, code: Shortage): boolean {
  return attemptHooksOf(context)?.hasStep(code) ?? false;
}

/** Whether the disk itself is full, which says nothing about other nodes. A limit on spilling is another matter. */
export function isDiskFull(error: unknown): boolean {
  if (isShortOfDisk(error)) return true;
  if (!isMillraceError(error, 'disk_full')) return false;
  return /No space left on device|Disk quota exceeded/.test(error.why ?? '');
}

function isShortOfDisk(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}
