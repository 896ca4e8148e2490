/** The description of the API, generated from the table that serves it. */
import type { Parameter, Route } from './route.ts';
import { SCHEMAS } from './schemas/index.ts';
import { ref, type Schema } from './schemas/schema.ts';

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly unknown[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { description: string; content?: Content }>>;
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: unknown;
  };
}

export function describeApi(routes: readonly Route[], version: string): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      description:
        'Durable task graphs. Reads answer with `asOf`, the number of the last event that is in the ' +
        'answer, also as the header `Millrace-As-Of`. Errors are `application/problem+json`.',
    },
    paths,
    components: {
      schemas: SCHEMAS,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** `/jobs/:id` is `/jobs/{id}` there. */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, '{$1}');
}

function operationOf(route: Route): Operation {
  const { summary, description, role, body } = route;
  return {
    operationId: operationId(route),
    summary,
    ...(description === undefined ? {} : { description }),
    security: role === null ? [] : [{ token: [role].flat() }],
    parameters: parametersOf(route),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required,
            content: { 'application/json': { schema: ref(body.schema) } },
          },
        }),
    responses: responsesOf(route),
  };
}

/** `POST /api/v1/jobs/:id/cancel` is `postJobsIdCancel`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace('/api/v1', '')
    .split(/[^A-Za-z]+/)
    .filter((word) => word !== '');
  const named = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return [method.toLowerCase(), ...named].join('');
}

function parametersOf({ path, parameters = {}, headers = {} }: Route): readonly unknown[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(parameters).map(([name, parameter]) => ({
    name,
    in: 'query',
    required: false,
    description: parameter.description,
    schema: schemaOf(parameter),
  }));
  const inHeader = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function schemaOf(parameter: Parameter): Schema {
  switch (parameter.type) {
    case 'string':
      return parameter.isRepeatable === true
        ? { type: 'array', items: { type: 'string', maxLength: parameter.maxLength } }
        : { type: 'string', maxLength: parameter.maxLength };
    case 'integer':
      return { type: 'integer', minimum: parameter.minimum, maximum: parameter.maximum };
    case 'enum':
      return { type: 'string', enum: parameter.values };
  }
}

function responsesOf(route: Route): Operation['responses'] {
  const responses: Record<string, { description: string; content?: Content }> = {};
  for (const [status, answer] of Object.entries(route.answers)) {
    const { description, schema, contentType = 'application/json' } = answer;
    const isBare = schema === undefined && answer.contentType === undefined;
    const content: Record<string, { readonly schema: Schema }> = {
      [contentType]: { schema: schema === undefined ? {} : ref(schema) },
    };
    for (const other of answer.otherTypes ?? []) content[other] = { schema: {} };
    responses[status] = { description, ...(isBare ? {} : { content }) };
  }
  const problem = { 'application/problem+json': { schema: ref('Problem') } };
  return { ...responses, default: { description: 'A problem.', content: problem } };
}
