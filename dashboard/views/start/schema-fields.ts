/** The fields of a form, from the JSON Schema of a flow's input. What has no simple field is written as JSON. */
type Schema = Readonly<Record<string, unknown>>;

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string | null;
  readonly isRequired: boolean;
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';
  /** As JSON text, for a choice. */
  readonly choices: readonly string[];
  /** What the field shows at first. */
  readonly initial: string;
}

/** Null if the input is not an object with known properties: then all of it is JSON. */
export function fieldsOf(schema: unknown): readonly Field[] | null {
  if (!isObject(schema) || schema['type'] !== 'object' || !isObject(schema['properties']))
    return null;
  const required = listOf(schema['required']);
  const properties = Object.entries(schema['properties']);
  // With these the properties alone do not say what fits.
  const isOpen = ['anyOf', 'oneOf', 'allOf', '$ref'].some((key) => Object.hasOwn(schema, key));
  if (properties.length === 0 || isOpen) return null;
  return properties.map(([name, property]) =>
    fieldOf(name, isObject(property) ? property : {}, required.includes(name)),
  );
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field {
  const choices = choicesIn(schema);
  const kind = choices === null ? kindOf(schema['type']) : 'choice';
  const given = schema['default'];
  const isText = kind === 'text' && typeof given === 'string';
  return {
    name,
    title: typeof schema['title'] === 'string' ? schema['title'] : name,
    description: typeof schema['description'] === 'string' ? schema['description'] : null,
    isRequired,
    kind,
    choices: choices ?? [],
    initial: given === undefined ? '' : isText ? given : JSON.stringify(given),
  };
}

function choicesIn(schema: Schema): readonly string[] | null {
  if (Object.hasOwn(schema, 'const')) return [JSON.stringify(schema['const'])];
  const values = schema['enum'];
  return Array.isArray(values) && values.length > 0
    ? values.map((value) => JSON.stringify(value))
    : null;
}

function kindOf(type: unknown): Field['kind'] {
  switch (type) {
    case 'string':
      return 'text';
    case 'number':
    case 'integer':
    case 'boolean':
      return type;
    default:
      return 'json';
  }
}

export type FormValue =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly field: string; readonly why: string };

/** The input that the texts stand for. An optional field without text is left out. */
export function valueOf(
  fields: readonly Field[],
  texts: Readonly<Record<string, string>>,
): FormValue {
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    if (text.trim() === '' && !field.isRequired) continue;
    const read = readField(field, text);
    if (!read.ok) return { ok: false, field: field.name, why: read.why };
    entries.push([field.name, read.value]);
  }
  // Not by assignment: a field may be called __proto__.
  return { ok: true, value: Object.fromEntries(entries) };
}

type Read =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string };

function readField({ kind, title }: Field, text: string): Read {
  if (kind === 'text') return { ok: true, value: text };
  if (text.trim() === '') return { ok: false, why: `${title} is missing.` };
  if (kind === 'number' || kind === 'integer') {
    const value = Number(text);
    const isFit = kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
    const what = kind === 'integer' ? 'a whole number' : 'a number';
    return isFit ? { ok: true, value } : { ok: false, why: `${title} is not ${what}.` };
  }
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false, why: `${title} is not JSON.` };
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
