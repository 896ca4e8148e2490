/** The defaults that a JSON Schema states, for what must be known of an input before the flow's own schema has seen it. */
import { isObject } from '../json.ts';
import type { Json } from '../json.ts';

const DEPTH_MAX = 32;

/**
 * The input with the defaults of the fields that it lacks, as far as the schema states them: those of objects in objects,
 * not of items of lists. What the input has stays as it is.
 */
export function withDefaults(schema: Json | undefined, input: Json): Json {
  return filled(schema, input, 0);
}

function filled(schema: Json | undefined, input: Json, depth: number): Json {
  if (!isObject(schema) || depth > DEPTH_MAX) return input;
  // No input is null, and stands for the default of the whole.
  const isOmitted = depth === 0 && input === null && Object.hasOwn(schema, 'default');
  const value = isOmitted ? (schema['default'] as Json) : input;
  const { properties } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  const missing = Object.entries(properties).flatMap(([name, each]) =>
    isObject(each) && Object.hasOwn(each, 'default') && !Object.hasOwn(value, name)
      ? [[name, each['default'] as Json] as const]
      : [],
  );
  const known = Object.entries(value).map(([name, each]) => {
    const part = Object.hasOwn(properties, name) ? (properties[name] as Json) : undefined;
    return [name, isObject(each) ? filled(part, each, depth + 1) : each] as const;
  });
  return Object.fromEntries([...known, ...missing]);
}
