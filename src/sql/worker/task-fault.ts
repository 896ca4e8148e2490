/** How a fragment that failed is told to the leader: tried again, given up, or waiting for lost inputs. */
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, TaskId } from '../../scheduler/core/index.ts';
import { InputLostError, TaskFailure, lifelineOf } from '../../tasks/executors/index.ts';
import type { TaskContext } from '../../tasks/executors/index.ts';
import { PartitionLostError } from '../shuffle/index.ts';

/** What an attempt leaves behind for the next one: it ran out of memory, or of room on the disk. */
type Shortage = 'out_of_memory' | 'disk_full';

/** Another attempt, on this node or another one, may do better. All other codes are for good. */
const WORTH_ANOTHER_TRY: ReadonlySet<ErrorCode> = new Set([
  'engine_crashed',
  // A file of an input went away while it was read: the next attempt finds out whose.
  'input_lost',
  'unreachable',
  'overloaded',
  'shutting_down',
  'conflict',
  'invariant',
  'unauthenticated',
  'forbidden',
]);

/** What to throw instead. */
export async function taskFault(error: unknown, context: TaskContext): Promise<unknown> {
  // It was told to stop, and so it fails: whoever told it knows why.
  if (context.signal.aborted) return error;
  if (error instanceof PartitionLostError) {
    const lost = [{ taskId: error.task as TaskId, fence: error.fence }];
    return new InputLostError(lost, error.message, error);
  }
  // The disk of this node is full, others may have room: tried again as often as any failure.
  if (isShortOfDisk(error)) {
    const message = `There is no room left on the disk: ${error.message}`;
    return new TaskFailure('disk_full', 'retryable', message);
  }
  if (!isMillraceError(error)) return error;
  const { code, message } = error;
  if (isDiskFull(error)) return new TaskFailure(code, 'retryable', message);
  if (code === 'out_of_memory' || code === 'disk_full') return shortage(code, message, context);
  return new TaskFailure(code, WORTH_ANOTHER_TRY.has(code) ? 'retryable' : 'fatal', message);
}

/** Once is tried again, with twice the memory and perhaps elsewhere; twice is for good. */
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

/** Whether an earlier attempt of this run has left it. */
export function hasStep(context: TaskContext, code: Shortage): boolean {
  return lifelineOf(context)?.hasStep(code) ?? false;
}

/** The disk itself is full, which says nothing of other nodes. A limit on what may be spilled is another matter. */
export function isDiskFull(error: unknown): boolean {
  if (isShortOfDisk(error)) return true;
  if (!isMillraceError(error, 'disk_full')) return false;
  return /No space left on device|Disk quota exceeded/.test(error.why ?? '');
}

function isShortOfDisk(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}
