import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { parseFlows } from '../node/flow.ts';
import type { FlowDeclaration } from '../node/flow.ts';
import type { Json, JsonObject } from '../json.ts';
import { defaultSettings } from '../settings.ts';
import { flowDocument } from './flow-document.ts';
import { parseJobDocument } from './parse.ts';

const ORDER: FlowDeclaration = {
  name: 'order',
  version: '0123456789ab',
  input: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
  template: {
    name: 'order',
    priority: 1,
    output: { receipt: { $from: 'charge', path: '/receipt' } },
    tasks: [
      {
        id: 'charge',
        executor: 'charge',
        input: { order: { $from: '_input', path: '/id', missing: 'omit' } },
        dependsOn: ['_input'],
        idempotencyKey: { $input: '/id' },
        concurrency: { key: { $input: '/region' }, limit: 2 },
        when: [{ $from: '_input', path: '/cents', '>': { $input: '/least' } }],
      },
    ],
  },
};
const made = (flow: FlowDeclaration, input: Json): JsonObject =>
  flowDocument(flow, input, '/input', defaultSettings.inputBytesMax);

describe('the job of a flow', () => {
  const input = { id: 'A-7', region: 'eu', least: 5, note: { $from: 'nothing' } };

  test('has the input in its first task, and in keys and conditions what was given', () => {
    const document = made(ORDER, input);
    const { tasks } = document as unknown as { readonly tasks: readonly JsonObject[] };
    expect(tasks[0]).toEqual({
      id: '_input',
      executor: 'flow:order',
      input: { $literal: { input, unchanged: ['/id', '/region', '/least'] } },
    });
    expect(tasks[1]).toMatchObject({
      idempotencyKey: 'A-7',
      concurrency: { key: 'eu', limit: 2 },
      when: [{ $from: '_input', path: '/cents', '>': 5 }],
    });
    expect(parseJobDocument(document, defaultSettings)).toMatchObject({
      name: 'order',
      priority: 1,
    });
  });

  test('of a flow without input has no first task, and takes none', () => {
    const tasks = [{ id: 'a', executor: 'echo' }];
    const plain: FlowDeclaration = { ...ORDER, input: null, template: { name: 'order', tasks } };
    expect(made(plain, null)['tasks']).toEqual(tasks);
    expect(refusalOf(() => made(plain, {}))).toMatchObject({ code: 'bad_input', path: '/input' });
  });

  test.each<[string, Json, string, string]>([
    [
      'does not fit the schema',
      { id: 7 },
      '/input/id',
      "The flow 'order' does not accept this input.",
    ],
    ['lacks what a key needs', { id: 'A-7' }, '/input/region', 'a key or condition'],
    ['is null', null, '/input', 'Must be object'],
  ])('is refused for an input that %s', (_, given, path, words) => {
    const refusal = refusalOf(() => made(ORDER, given));
    expect(refusal).toMatchObject({ code: 'bad_input', path });
    expect(refusal.what).toContain(words);
  });

  test('is refused for an input that is too large', () => {
    const refusal = refusalOf(() => flowDocument(ORDER, { id: 'x'.repeat(100) }, '/input', 50));
    expect(refusal).toMatchObject({ code: 'too_large' });
  });
});

test.each<[string, unknown, string]>([
  ['that is not a list', {}, ''],
  ['without a name', [{ ...ORDER, name: '' }], '/0/name'],
  ['with an invalid name', [{ ...ORDER, name: 'a/b' }], '/0/name'],
  ['with a version that could be anything', [{ ...ORDER, version: 'latest' }], '/0/version'],
  ['with a schema that is not one', [{ ...ORDER, input: 'string' }], '/0/input'],
  ['without a template', [{ ...ORDER, template: [] }], '/0/template'],
  ['with an unknown field', [{ ...ORDER, code: '' }], '/0/code'],
  ['that is there twice', [ORDER, ORDER], '/1'],
])('a list of flows %s is refused', (_, value, path) => {
  const refusal = refusalOf(() => parseFlows(value));
  expect(refusal.code).toBe('bad_input');
  expect(refusal.path ?? '').toBe(path);
});
