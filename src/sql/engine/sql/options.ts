/** Options of a reading function as SQL text: `delim = '|', types = {'a': 'DATE'}`. */
import { quotedText } from '../../plan/index.ts';

export interface ReaderOption {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** Splits at commas outside of quotes and brackets. */
export function readOptions(text: string): ReaderOption[] {
  const options: ReaderOption[] = [];
  for (const piece of pieces(text)) {
    const at = piece.indexOf('=');
    if (at < 0) continue;
    const name = piece.slice(0, at).replace(/:$/, '').trim().toLowerCase();
    options.push({ name, value: piece.slice(at + 1).trim() });
  }
  return options;
}

function pieces(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let quote: string | null = null;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (quote !== null) {
      if (letter === quote) quote = null;
    } else if (letter === "'" || letter === '"') quote = letter;
    else if ('([{'.includes(letter)) depth += 1;
    else if (')]}'.includes(letter)) depth -= 1;
    else if (letter === ',' && depth === 0) {
      found.push(text.slice(from, at));
      from = at + 1;
    }
  }
  found.push(text.slice(from));
  return found;
}

export function writeOptions(options: readonly ReaderOption[]): string {
  return options.map(({ name, value }) => `${name} = ${value}`).join(', ');
}

/** `given`, plus the options of `more` that it does not have. */
export function withOptions(
  given: readonly ReaderOption[],
  more: readonly ReaderOption[],
): ReaderOption[] {
  const names = new Set(given.map(({ name }) => name));
  return [...given, ...more.filter(({ name }) => !names.has(name))];
}

export function withoutOptions(
  options: readonly ReaderOption[],
  names: ReadonlySet<string>,
): ReaderOption[] {
  return options.filter(({ name }) => !names.has(name));
}

export function isOn(options: readonly ReaderOption[], name: string): boolean {
  const option = options.find((each) => each.name === name);
  return option !== undefined && /^'?(true|1)'?$/i.test(option.value);
}

/** `{'a': 'BIGINT', 'b': 'DATE'}` */
export function typeMap(
  columns: readonly { readonly name: string; readonly type: string }[],
): string {
  const entries = columns.map(({ name, type }) => `${quotedText(name)}: ${quotedText(type)}`);
  return `{${entries.join(', ')}}`;
}
