/** The events that start a flow or a task. */
import { isMillraceError, readEvents, writtenStart } from '../../scheduler/core/index.ts';
import type { WrittenStart } from '../../scheduler/core/index.ts';
import { refuse } from './fault.ts';

export function checkedEvents(about: string, on: unknown): readonly WrittenStart[] {
  try {
    return readEvents(on, '').map(writtenStart);
  } catch (error) {
    if (isMillraceError(error))
      refuse(`${about}, 'on'${error.path ?? ''}`, error.what, error.todo, error);
    throw error;
  }
}
