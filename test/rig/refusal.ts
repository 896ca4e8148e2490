import { expect } from 'vitest';
import { MillraceError } from '../../src/scheduler/core/errors.ts';

/** The error that an action is refused with; a test fails if it is not refused, or by accident. */
export function refusalOf(action: () => unknown): MillraceError {
  try {
    action();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  return expect.fail('expected to be refused, but was accepted');
}
