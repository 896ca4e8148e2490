/** JSON Schema (2020-12, as OpenAPI 3.1 has it), as far as the API needs it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: SchemaType | readonly SchemaType[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly examples?: readonly unknown[];
}

type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

export const text: Schema = { type: 'string' };
export const whole: Schema = { type: 'integer', minimum: 0 };
export const flag: Schema = { type: 'boolean' };
export const moment: Schema = { type: 'string', format: 'date-time' };
/** Any JSON value. */
export const anything: Schema = {};

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
export const oneOf = (values: readonly (string | number)[]): Schema => ({ enum: values });
export const described = (description: string, schema: Schema): Schema => ({
  description,
  ...schema,
});

/** An object with exactly these fields; those in `optional` may be absent. */
export function record(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  more: { readonly optional?: readonly string[]; readonly example?: unknown } = {},
): Schema {
  const optional = new Set(more.optional);
  return {
    type: 'object',
    description,
    properties,
    required: Object.keys(properties).filter((name) => !optional.has(name)),
    additionalProperties: false,
    ...(more.example === undefined ? {} : { examples: [more.example] }),
  };
}
