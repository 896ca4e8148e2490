import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiBench, openApi } from '../../../test/rig/api.ts';
import { schemaFaults } from '../../../test/rig/json-schema.ts';
import {
  checkedSettings,
  parseJobDocument,
  parseScheduleSpec,
} from '../../scheduler/core/index.ts';
import { cronCalendar } from '../../scheduler/coordinator/index.ts';
import type { OpenApi } from './openapi.ts';
import { ROUTES } from './routes/index.ts';
import { SCHEMAS } from './schemas/index.ts';

let bench: ApiBench;
let served: OpenApi;

beforeAll(async () => {
  bench = await openApi();
  served = JSON.parse((await bench.call('GET', '/openapi.json')).text) as OpenApi;
});
afterAll(() => bench.close());

describe('the description', () => {
  test('has every route, and nothing else', () => {
    const described = Object.entries(served.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routes = ROUTES.map(
      ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
    expect(new Set(routes).size).toBe(ROUTES.length);
  });

  test('names each operation once, with its parameters, its role and its problems', () => {
    const operations = Object.entries(served.paths).flatMap(([path, each]) =>
      Object.values(each).map((operation) => ({ path, ...operation })),
    );
    const names = operations.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { path, parameters, responses } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = parameters as readonly { in: string; name: string }[];
      expect(described.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(
        inPath,
      );
      expect(responses['default']?.content).toHaveProperty(['application/problem+json']);
    }
    const drain = served.paths['/api/v1/nodes/{id}/drain']?.['post'];
    expect(drain?.security).toEqual([{ token: ['admin'] }]);
    expect(served.paths['/healthz']?.['get']?.security).toEqual([]);
  });

  test('has no dangling reference and no unused schema', () => {
    const refs = [...JSON.stringify(served).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    const named = new Set(refs.map(([, name]) => name));
    const there = new Set(Object.keys(served.components.schemas));
    expect([...named].filter((name) => !there.has(name ?? ''))).toEqual([]);
    expect([...there].filter((name) => !named.has(name))).toEqual([]);
  });
});

describe('the schema of the job document', () => {
  test.each([
    ['no tasks', { tasks: [] }],
    ['an unknown field', { tasks: [{ id: 'a', executor: 'echo', retri: {} }] }],
    [
      'an unknown comparison',
      { tasks: [{ id: 'a', executor: 'echo', when: { $from: 'b', '~': 1 } }] },
    ],
    ['a condition on nothing', { tasks: [{ id: 'a', executor: 'echo', when: [{ path: '/x' }] }] }],
  ])('refuses %s', (_name, document) => {
    expect(schemaFaults(SCHEMAS.JobDocument, document, SCHEMAS)).not.toEqual([]);
  });
});

describe('an example', () => {
  const examples = Object.entries(SCHEMAS).flatMap(([name, schema]) =>
    (schema.examples ?? []).map((example) => [name, schema, example] as const),
  );

  test.each(examples)('of %s is as its schema says', (_name, schema, example) => {
    expect(schemaFaults(schema, example, SCHEMAS)).toEqual([]);
  });

  test('of a request is one that the server takes', () => {
    const settings = checkedSettings();
    const [job] = SCHEMAS.JobDocument.examples ?? [];
    expect(parseJobDocument(job, settings).tasks).toHaveLength(4);
    const [schedule] = SCHEMAS.ScheduleDocument.examples ?? [];
    expect(parseScheduleSpec(schedule, settings, cronCalendar).misfire).toBe('once');
  });
});
