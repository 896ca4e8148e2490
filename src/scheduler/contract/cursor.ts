/**
 * Where the next page of a list starts, as text that callers hand back and need not understand.
 * Inside are the numbers of the last row they saw, so a page costs the same however deep it lies.
 */
import { MillraceError } from '../core/index.ts';

/** The kind keeps a cursor of one list from being used on another. */
type Kind = 'jobs' | 'dead' | 'queries';

export function cursorOf(kind: Kind, numbers: readonly number[]): string {
  return Buffer.from(`${kind}:${numbers.join('.')}`).toString('base64url');
}

/** The numbers of a cursor that `cursorOf` made; anything else is refused. */
export function readCursor(kind: Kind, count: number, cursor: string): readonly number[] {
  const [made, list = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(':');
  const numbers = list.split('.').map(Number);
  const isOurs =
    made === kind &&
    numbers.length === count &&
    numbers.every((number) => Number.isSafeInteger(number) && number >= 0) &&
    // Each position has exactly one text, so an altered cursor is noticed.
    cursorOf(kind, numbers) === cursor;
  if (isOurs) return numbers;
  throw new MillraceError({
    code: 'bad_input',
    path: '?cursor',
    what: 'The cursor is not valid for this list.',
    todo: 'Use the cursor of the previous page unchanged, or omit it to start from the beginning.',
  });
}
