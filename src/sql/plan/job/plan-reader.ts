/** Reads JSON values of unknown shape. Every refusal names the path of the value. */
import { MillraceError, didYouMean, isObject } from '../../../scheduler/core/index.ts';

export class PlanReader {
  readonly value: unknown;
  readonly #path: string;

  private constructor(value: unknown, path: string) {
    this.value = value;
    this.#path = path;
  }

  static of(value: unknown): PlanReader {
    return new PlanReader(value, '');
  }

  refuse(what: string, todo?: string): never {
    throw new MillraceError({
      code: 'bad_input',
      path: this.#path === '' ? '/' : this.#path,
      what,
      todo,
    });
  }

  at(field: string): PlanReader {
    const { value } = this;
    if (!isObject(value)) this.refuse(`Must be an object, not ${described(value)}.`);
    const found = value[field];
    return new PlanReader(found, `${this.#path}/${field}`);
  }

  /** Refuses unknown fields. */
  known(fields: readonly string[]): this {
    const { value } = this;
    if (!isObject(value)) this.refuse(`Must be an object, not ${described(value)}.`);
    for (const field of Object.keys(value)) {
      if (fields.includes(field)) continue;
      const hint = didYouMean(field, fields);
      new PlanReader(null, `${this.#path}/${escaped(field)}`).refuse(
        `There is no such field.${hint}`,
        `The fields are ${fields.join(', ')}.`,
      );
    }
    return this;
  }

  text(): string {
    const text = this.textOrEmpty();
    return text === '' ? this.refuse('Must not be empty.') : text;
  }

  textOrEmpty(): string {
    const { value } = this;
    if (typeof value !== 'string') this.refuse(`Must be text, not ${described(value)}.`);
    if (value.includes('\0')) this.refuse('Must not have a NUL character.');
    return value;
  }

  flag(): boolean {
    const { value } = this;
    return typeof value === 'boolean'
      ? value
      : this.refuse(`Must be true or false, not ${described(value)}.`);
  }

  whole(min: number, max: number): number {
    const { value } = this;
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value);
    if (isWhole && value >= min && value <= max) return value;
    return this.refuse(`Must be a whole number from ${min} to ${max}, not ${described(value)}.`);
  }

  choice<Word extends string>(words: readonly Word[]): Word {
    const found = words.find((word) => word === this.value);
    if (found !== undefined) return found;
    const hint = typeof this.value === 'string' ? didYouMean(this.value, words) : '';
    const list = words.map((word) => `'${word}'`).join(', ');
    return this.refuse(`Must be one of ${list}, not ${described(this.value)}.${hint}`);
  }

  list<Item>(max: number, read: (item: PlanReader, at: number) => Item): readonly Item[] {
    const { value } = this;
    if (!Array.isArray(value)) this.refuse(`Must be a list, not ${described(value)}.`);
    const list = value as readonly unknown[];
    if (list.length > max) this.refuse(`Has ${list.length} entries, ${max} are allowed.`);
    return Array.from(list, (item, at) => read(new PlanReader(item, `${this.#path}/${at}`), at));
  }

  orNull<Item>(read: (reader: PlanReader) => Item): Item | null {
    return this.value === null ? null : read(this);
  }
}

const SHOWN_MAX = 60;

function described(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX - 3)}...`;
}

function escaped(field: string): string {
  return field.replaceAll('~', '~0').replaceAll('/', '~1');
}
