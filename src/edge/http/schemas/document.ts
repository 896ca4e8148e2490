/** The job document in the API's description: the one JSON Schema of it, with its definitions as components. */
import { jobSchema } from '../../../scheduler/core/index.ts';
import type { Schema } from './schema.ts';

export const DOCUMENT_EXAMPLE: object = {
  name: 'nightly',
  priority: 2,
  idempotencyKey: '2026-11-15',
  tasks: [
    {
      id: 'fetch',
      executor: 'http',
      input: { url: 'https://example.org/x' },
      retry: { maxAttempts: 5, backoffMs: 250 },
      timeouts: { queueMs: 60_000, runMs: 30_000 },
    },
    {
      id: 'sum',
      executor: 'myFunction',
      dependsOn: ['fetch', { id: 'warm', required: false }],
      input: { rows: { $from: 'fetch', path: '/body/rows' } },
      placement: { capabilities: { gpu: 'nvidia' }, forbiddenNodes: ['w-9'] },
    },
    { id: 'warm', executor: 'echo', input: 1 },
    {
      id: 'alert',
      executor: 'myFunction',
      dependsOn: ['sum'],
      when: { $from: 'sum', path: '/total', '>': 1_000 },
      input: { total: { $from: 'sum', path: '/total' } },
    },
  ],
  output: { total: { $from: 'sum', path: '/total' } },
};

/** Components that the description itself refers to; the other definitions stand beside them. */
export type DocumentSchemaName = 'JobDocument' | 'JobDocumentTask';

const { $defs, ...document } = jobSchema;

const componentName = (name: string): string =>
  `JobDocument${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;

/** Definitions in `$defs` are components here. */
function asComponent(schema: unknown): Schema {
  const moved = (key: string, value: unknown): unknown =>
    key === '$ref' && typeof value === 'string'
      ? `#/components/schemas/${componentName(value.replace('#/$defs/', ''))}`
      : value;
  return JSON.parse(JSON.stringify(schema, moved)) as Schema;
}

const { $schema: _dialect, $id: _id, title: _title, ...root } = document;

export const documentSchemas: Readonly<Record<DocumentSchemaName, Schema>> = {
  JobDocument: { ...asComponent(root), examples: [DOCUMENT_EXAMPLE] },
  JobDocumentTask: asComponent($defs['task']),
  ...Object.fromEntries(
    Object.entries($defs).map(([name, schema]) => [componentName(name), asComponent(schema)]),
  ),
};
