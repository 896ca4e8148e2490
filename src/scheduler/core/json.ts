/** JSON as a type, and the one text form of a value that idempotency keys are built from. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Same value, same text: keys sorted, no spaces. Iterative input depth is bounded by the parser. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const object = value as JsonObject;
    const fields = Object.keys(object)
      .toSorted()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Whether it is an object, and neither null nor a list. */
export function isObject(value: Json | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
