import { MillraceError } from '../../scheduler/core/index.ts';

/** What calls hear that are made, or wait, when their client is closed. */
export function closed(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'This client was closed.',
    todo: 'Close it after all calls have returned.',
  });
}
