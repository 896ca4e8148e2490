/** Values held to the schemas of the API's description. Returns what is wrong, with the place. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Schema } from '../../src/edge/http/schemas/schema.ts';

type Schemas = Readonly<Record<string, Schema>>;

const ROOT = 'urn:test:api';
/** As we write times. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const validators = new WeakMap<Schemas, Ajv2020>();
const compiled = new WeakMap<Schema, ValidateFunction>();

function validatorFor(all: Schemas): Ajv2020 {
  const known = validators.get(all);
  if (known !== undefined) return known;
  const made = new Ajv2020({
    allErrors: true,
    allowUnionTypes: true,
    strictRequired: false,
    formats: { 'date-time': MOMENT },
    keywords: ['components'],
  });
  made.addSchema({ $id: ROOT, components: { schemas: all } });
  validators.set(all, made);
  return made;
}

export function schemaFaults(schema: Schema, value: unknown, all: Schemas): string[] {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    // References within the description are those of its root.
    const rooted = JSON.stringify(schema).replaceAll('"#/components/', `"${ROOT}#/components/`);
    validate = validatorFor(all).compile(JSON.parse(rooted) as Schema);
    compiled.set(schema, validate);
  }
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}
