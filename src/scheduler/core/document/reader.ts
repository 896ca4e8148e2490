/**
 * Reads typed fields out of an object of unknown shape. A reader knows where its object stands,
 * so every refusal names the field; the path is only built when something is wrong, because a
 * document may have a hundred thousand tasks and all of them are usually right.
 */
import { isObject } from '../json.ts';
import { MillraceError } from '../errors.ts';
import { ID_LENGTH_MAX, isId } from '../ids.ts';
import type { Field, Grammar, Limits } from './grammar.ts';
import { below, refuse } from './refuse.ts';
import { didYouMean } from './spelling.ts';
import { described, nameFault } from './text.ts';

/** A limit on lists of names in one task: nodes, executors, capabilities. */
export const NAMES_MAX = 1_000;

/** Where only the names are declared, limits are given with each call. */
type Known = Pick<Grammar, 'names'> & Partial<Grammar>;

export class Fields {
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #grammar: Known;

  private constructor(object: Readonly<Record<string, unknown>>, path: string, grammar: Known) {
    this.#object = object;
    this.#path = path;
    this.#grammar = grammar;
  }

  /** `what` names the thing in messages ("A task"); fields outside the grammar are refused. */
  static of(value: unknown, path: string, what: string, grammar: Known): Fields {
    const known = grammar.names;
    if (!isObject(value)) {
      refuse(path, `${what} must be an object, not ${described(value)}.`);
    }
    const object = value;
    for (const key of Object.keys(object)) {
      if (known.has(key) || object[key] === undefined) continue;
      refuse(
        below(path, key),
        `${what} has no field ${described(key)}.${didYouMean(key, known)}`,
        `The fields are ${[...known].join(', ')}.`,
      );
    }
    return new Fields(object, path, grammar);
  }

  /** Absent and `undefined` are the same: JSON knows no difference. */
  raw(field: string): unknown {
    return this.#object[field];
  }

  /** Where one of the known fields stands; their names need no escaping. */
  at(field: string): string {
    return `${this.#path}/${field}`;
  }

  missing(field: string, todo: string): never {
    refuse(this.at(field), `The field '${field}' is missing.`, todo);
  }

  name(field: string): string | undefined {
    const value = this.raw(field);
    return value === undefined ? undefined : readName(value, () => this.at(field));
  }

  /** Null when absent. */
  whole(field: string, limits: Limits = this.#declared(field, 'whole')): number | null {
    const value = this.raw(field);
    if (value === undefined) return null;
    return readWhole(value, () => this.at(field), limits.min, limits.max);
  }

  flag(field: string): boolean | undefined {
    const value = this.raw(field);
    if (value === undefined || typeof value === 'boolean') return value;
    return refuse(this.at(field), `Must be true or false, not ${described(value)}.`);
  }

  choice<Word extends string>(
    field: string,
    words: readonly Word[] = this.#declared(field, 'choice').of as readonly Word[],
  ): Word | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    const hint = typeof value === 'string' ? didYouMean(value, words) : '';
    return refuse(
      this.at(field),
      `Must be one of ${words.map((each) => `'${each}'`).join(', ')}, not ${described(value)}.${hint}`,
    );
  }

  list(field: string): readonly unknown[] | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      refuse(this.at(field), `Must be a list, not ${described(value)}.`);
    }
    return value as readonly unknown[];
  }

  /** A set of names, sorted: two documents that mean the same read the same. */
  names(field: string): readonly string[] | undefined {
    const read = this.#declared(field, 'names').items === 'id' ? readId : readName;
    const list = this.list(field);
    if (list === undefined) return undefined;
    if (list.length > NAMES_MAX) {
      refuse(this.at(field), `Has ${list.length} entries; the limit is ${NAMES_MAX}.`);
    }
    // Array.from and not map: a hole in the list is undefined, and refused as such.
    const names = Array.from(list, (each, at) => read(each, () => below(this.at(field), at)));
    return [...new Set(names)].toSorted();
  }

  /** The fields of an object inside this one. */
  inner(
    field: string,
    grammar: Known = this.#declared(field, 'record').grammar,
  ): Fields | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    return Fields.of(value, this.at(field), `'${field}'`, grammar);
  }

  /** The field as the grammar has it. */
  #declared<Type extends Field['type']>(
    field: string,
    type: Type,
  ): Extract<Field, { readonly type: Type }> {
    const declared = this.#grammar.fields?.[field];
    if (declared?.type === type) return declared as Extract<Field, { readonly type: Type }>;
    throw new MillraceError({ code: 'invariant', what: `${field} is not declared as ${type}` });
  }
}

/** A path that is built when it is needed. */
export type Path = () => string;

export function readName(value: unknown, path: Path): string {
  if (typeof value !== 'string') refuse(path(), `Must be text, not ${described(value)}.`);
  const fault = nameFault(value);
  if (fault !== null) refuse(path(), `The text ${described(value)} ${fault}.`);
  return value;
}

export function readId(value: unknown, path: Path): string {
  if (typeof value !== 'string') {
    refuse(path(), `An id must be text, not ${described(value)}.`);
  }
  if (isId(value)) return value;
  return refuse(
    path(),
    `${described(value)} is not a valid id.`,
    `Use 1 to ${ID_LENGTH_MAX} letters, digits and . _ : @ + = - that start with a letter, a digit or _.`,
  );
}

export function readWhole(value: unknown, path: Path, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value === 0 ? 0 : value; // never -0, which would not survive being stored
  }
  return refuse(path(), `Must be a whole number from ${min} to ${max}, not ${described(value)}.`);
}
