/** As much of JSON Schema as the API's description uses. Answers what is wrong, with the place. */
import type { Schema } from '../../src/edge/http/schemas/schema.ts';

type Schemas = Readonly<Record<string, Schema>>;

const KNOWN: ReadonlySet<string> = new Set([
  ...['$ref', 'type', 'description', 'format', 'enum', 'minimum', 'maximum', 'maxLength'],
  ...['minItems', 'properties', 'required', 'additionalProperties', 'items', 'anyOf', 'examples'],
]);

export function schemaFaults(schema: Schema, value: unknown, all: Schemas, at = ''): string[] {
  const unknown = Object.keys(schema).filter((word) => !KNOWN.has(word));
  if (unknown.length > 0) return [`${at}: the schema says ${unknown.join()}, which is not checked`];
  if (schema.$ref !== undefined) {
    const named = all[schema.$ref.replace('#/components/schemas/', '')];
    return named === undefined ? [`${at}: no ${schema.$ref}`] : schemaFaults(named, value, all, at);
  }
  if (schema.anyOf !== undefined) {
    const tried = schema.anyOf.map((each) => schemaFaults(each, value, all, at));
    return tried.some((faults) => faults.length === 0) ? [] : tried.flat();
  }
  return [
    ...typeFaults(schema, value, at),
    ...rangeFaults(schema, value, at),
    ...(Array.isArray(value)
      ? value.flatMap((item: unknown, index) =>
          schemaFaults(schema.items ?? {}, item, all, `${at}/${index}`),
        )
      : objectFaults(schema, value, all, at)),
  ];
}

function typeFaults({ type, enum: values }: Schema, value: unknown, at: string): string[] {
  if (values !== undefined && !values.some((each) => each === value)) {
    return [`${at}: ${JSON.stringify(value)} is not one of ${values.join(', ')}`];
  }
  if (type === undefined) return [];
  const types = typeof type === 'string' ? [type] : type;
  const is = typesOf(value);
  return types.some((each) => is.includes(each))
    ? []
    : [`${at}: is ${is.join()}, not ${types.join()}`];
}

function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number')
    return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}

function rangeFaults(schema: Schema, value: unknown, at: string): string[] {
  const { minimum, maximum, maxLength, minItems, format } = schema;
  const faults: string[] = [];
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) faults.push(`${at}: ${value} < ${minimum}`);
    if (maximum !== undefined && value > maximum) faults.push(`${at}: ${value} > ${maximum}`);
  }
  if (typeof value === 'string') {
    if (maxLength !== undefined && value.length > maxLength) faults.push(`${at}: is too long`);
    const isMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
    if (format === 'date-time' && !isMoment) faults.push(`${at}: ${value} is not a time`);
  }
  const isShort = Array.isArray(value) && minItems !== undefined && value.length < minItems;
  return isShort ? [...faults, `${at}: has less than ${minItems} items`] : faults;
}

function objectFaults(schema: Schema, value: unknown, all: Schemas, at: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const faults = missing.map((name) => `${at}/${name}: is missing`);
  for (const [name, field] of Object.entries(value)) {
    const place = `${at}/${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) faults.push(...schemaFaults(known, field, all, place));
    else if (additionalProperties === false) faults.push(`${place}: is not described`);
    else if (additionalProperties !== true) {
      faults.push(...schemaFaults(additionalProperties, field, all, place));
    }
  }
  return faults;
}
