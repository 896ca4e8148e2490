/** The job document of the API's description as a schema that stands by itself, for a validator. */
import { requestSchemas, type RequestSchemaName } from '../../src/edge/http/schemas/requests.ts';
import type { Schema } from '../../src/edge/http/schemas/schema.ts';

interface WholeSchema extends Schema {
  readonly $schema: string;
  readonly title: string;
  readonly $defs: Readonly<Record<string, Schema>>;
}

const PARTS: readonly RequestSchemaName[] = ['TaskDocument', 'Condition'];

export const jobDocumentSchema: WholeSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Millrace job document',
  ...atHome(requestSchemas.JobDocument),
  $defs: Object.fromEntries(PARTS.map((name) => [name, atHome(requestSchemas[name])])),
};

/** What the description of the API keeps among its components stands beside the schema here. */
function atHome(schema: Schema): Schema {
  const moved = (_key: string, value: unknown): unknown =>
    typeof value === 'string' ? value.replace(/^#\/components\/schemas\//, '#/$defs/') : value;
  return JSON.parse(JSON.stringify(schema, moved)) as Schema;
}
