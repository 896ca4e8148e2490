/** The events that start a flow or a task. */
import { isMillraceError, readEvents } from '../../scheduler/core/index.ts';
import { refuse } from './fault.ts';

export function checkedEvents(about: string, on: unknown): readonly string[] {
  try {
    return readEvents(on, '');
  } catch (error) {
    if (isMillraceError(error)) refuse(`${about}, 'on'`, error.what, error.todo, error);
    throw error;
  }
}
