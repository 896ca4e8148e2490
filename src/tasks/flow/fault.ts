/** How a definition is refused: with its name, what is wrong and what to do. */
import { MillraceError, didYouMean, isObject } from '../../scheduler/core/index.ts';

/** The subject of a fault, as at the start of the message: `Flow 'order', task 'ship'`. */
export type About = string;

export function refuse(about: About, what: string, todo?: string, cause?: unknown): never {
  throw new MillraceError({ code: 'bad_input', what: `${about}: ${what}`, todo, cause });
}

export function refuseUnknownFields(about: About, given: unknown, known: readonly string[]): void {
  if (!isObject(given)) {
    refuse(about, `its definition must be an object, not ${shown(given)}.`);
  }
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    refuse(
      about,
      `unknown option '${key}'.${didYouMean(key, known)}`,
      `The options are ${known.join(', ')}.`,
    );
  }
}

/** A value as a person would name it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  }
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    return `the ${typeof value} ${value}`;
  }
  return `a ${typeof value}`;
}

/** Advice for a name that cannot be an id. */
export const ID_RULE =
  'Use 1 to 200 letters, digits and . _ : @ + = - that start with a letter, a digit or _.';
