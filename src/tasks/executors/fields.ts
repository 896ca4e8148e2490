/** Reads the input of a built-in executor, field by field. What does not fit is refused with its place. */
import { MillraceError, didYouMean, isId, isObject } from '../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../scheduler/core/index.ts';

export class Fields {
  readonly #at: string;
  readonly #fields: JsonObject;

  /** `at` is the place of the object itself: '' for the whole input. */
  constructor(input: Json, known: readonly string[], at: string = '') {
    if (!isObject(input)) {
      throw badInput(at, `Must be an object with ${known.join(', ')}.`);
    }
    for (const name of Object.keys(input)) {
      if (known.includes(name)) continue;
      const hint = didYouMean(name, known);
      throw badInput(`${at}/${name}`, `Unknown field.${hint}`, fieldsAre(known));
    }
    this.#at = at;
    this.#fields = input;
  }

  /** Null counts as left out: that is what a reference to nothing becomes. */
  value(name: string): Json | undefined {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  place(name: string): string {
    return `${this.#at}/${name}`;
  }

  required(name: string): string {
    return this.text(name) ?? this.refuse(name, 'This field is required and must be text.');
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string' || value === '') return this.refuse(name, 'Must be text.');
    if (value.includes('\0')) return this.refuse(name, 'The text contains a NUL character.');
    return value;
  }

  id(name: string): string {
    const text = this.required(name);
    return isId(text) ? text : this.refuse(name, 'Not a valid executor name.');
  }

  whole(name: string, min: number, max: number): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    return this.refuse(name, `Must be a whole number from ${min} to ${max}.`);
  }

  list(name: string): readonly Json[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    return Array.isArray(value) ? (value as readonly Json[]) : this.refuse(name, 'Must be a list.');
  }

  /** A list of text; empty texts are fine. */
  texts(name: string): readonly string[] {
    return (this.list(name) ?? []).map((value, index) => {
      if (typeof value === 'string' && !value.includes('\0')) return value;
      return this.refuse(`${name}/${index}`, 'Must be text without NUL characters.');
    });
  }

  /** The object under the name, to be read in its turn. */
  within(name: string, known: readonly string[]): Fields | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : new Fields(value, known, this.place(name));
  }

  /** An object whose names are not known before. */
  entries(name: string): readonly (readonly [string, Json])[] {
    const value = this.value(name);
    if (value === undefined) return [];
    return isObject(value) ? Object.entries(value) : this.refuse(name, 'Must be an object.');
  }

  refuse(name: string, what: string, todo?: string): never {
    throw badInput(this.place(name), what, todo);
  }
}

/** Text goes as it is, anything else as JSON; nothing when there is nothing. */
export function textOrJson(value: Json | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function badInput(path: string, what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, ...(path === '' ? {} : { path }), todo });
}

function fieldsAre(known: readonly string[]): string {
  return `There are: ${known.join(', ')}.`;
}
