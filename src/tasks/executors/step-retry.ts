/** The function of a step that is called again, within the attempt, when it throws. */
import { backoffMs, sleepOrAbort, systemClock } from '../../kit/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { StepOptions, StepRetry, TaskContext } from './executor.ts';
import { classifyFailure } from './failure.ts';

const CALLS_MAX = 1_000;
const BACKOFF_MS = 250;
const BACKOFF_MAX_MS = 30_000;

/** Without `retry` it is the function itself. */
export function withRetries<T>(
  name: string,
  fn: () => T | Promise<T>,
  options: StepOptions | undefined,
  context: Pick<TaskContext, 'signal' | 'log'>,
): () => T | Promise<T> {
  const retry = options?.retry;
  if (retry === undefined || typeof fn !== 'function') return fn;
  const { maxAttempts, backoff } = checked(name, retry);
  return async () => {
    for (let calls = 1; ; calls += 1) {
      try {
        return await fn();
      } catch (thrown) {
        if (calls >= maxAttempts || context.signal.aborted || !isPassing(thrown)) throw thrown;
        const waitMs = backoffMs(backoff, calls, Math.random);
        const { message } = classifyFailure(thrown).error;
        context.log.warn(`step ${name} failed, ${calls} of ${maxAttempts}: ${message}`);
        await sleepOrAbort(systemClock, waitMs, context.signal);
        context.signal.throwIfAborted();
      }
    }
  };
}

/** What says when the next attempt may begin, or that none is of use, is for the scheduler. */
function isPassing(thrown: unknown): boolean {
  const { failure, retryAfterMs, lost } = classifyFailure(thrown);
  return failure === 'retryable' && retryAfterMs === undefined && lost === undefined;
}

function checked(name: string, retry: StepRetry) {
  const { maxAttempts, backoffMs: firstMs = BACKOFF_MS, maxBackoffMs = BACKOFF_MAX_MS } = retry;
  const isCount = Number.isInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= CALLS_MAX;
  const isTime = [firstMs, maxBackoffMs].every((ms) => Number.isFinite(ms) && ms >= 0);
  if (isCount && isTime) {
    return { maxAttempts, backoff: { firstMs, maxMs: Math.max(firstMs, maxBackoffMs) } };
  }
  throw new MillraceError({
    code: 'bad_input',
    what: `The retry of step ${name} is not valid.`,
    todo: `Give maxAttempts from 1 to ${CALLS_MAX}, and backoffMs and maxBackoffMs in milliseconds.`,
  });
}
