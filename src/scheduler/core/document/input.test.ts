import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TaskId } from '../ids.ts';
import type { Json } from '../json.ts';
import type { TaskEnd } from '../job/ending.ts';
import { checkedSettings } from '../settings.ts';
import { inputReferences, resolveInput } from './input.ts';
import { parseJobDocument } from './parse.ts';
import { asLiteral } from './template.ts';

/** No condition looks at it here. */
const ended = (): TaskEnd => 'succeeded';

/** Resolves against results by task id. */
const resolved = (template: Json, results: Readonly<Record<string, Json>>): unknown =>
  resolveInput(JSON.stringify(template), (task) => results[task], ended);

const input = (value: Json): unknown => ({ ok: true, input: value });

describe('resolving an input', () => {
  test('gives null for an absent template', () => {
    expect(resolveInput(null, () => 1, ended)).toEqual(input(null));
  });

  test('fills templates with each element of a list, into one list', () => {
    const template = {
      $from: 'groups',
      path: '/1',
      each: [
        {
          at: { $from: 'a', path: '/at' },
          no: { $item: true },
          part: { $from: 'a', path: '/p/*' },
        },
        { no: { $item: true }, part: { $from: 'b', path: '/p/*/x' }, kept: { $literal: '$item' } },
      ],
    };
    const results = {
      groups: [[], [2, 0]],
      a: { at: 'here', p: [10, 11, 12] },
      b: { p: [{ x: 'b0' }, {}, { x: 'b2' }] },
    };
    expect(resolved(template, results)).toEqual(
      input([
        { at: 'here', no: 2, part: 12 },
        { no: 2, part: 'b2', kept: '$item' },
        { at: 'here', no: 0, part: 10 },
        { no: 0, part: 'b0', kept: '$item' },
      ]),
    );
    expect(resolved({ ...template, path: '/0' }, results)).toEqual(input([]));
    const some = { ...results, groups: [[], [{ item: 2, from: 1, to: 2 }, 0]] };
    expect(resolved(template, some)).toEqual(
      input([
        { no: 2, part: 'b2', kept: '$item' },
        { at: 'here', no: 0, part: 10 },
        { no: 0, part: 'b0', kept: '$item' },
      ]),
    );
    expect(inputReferences(JSON.stringify(template))).toEqual(['groups', 'a', 'b']);
  });

  test.each([
    ['is not there', { groups: [] }],
    ['is something else', { groups: [{ no: 1 }] }],
    ['has no result', {}],
    ['names an element that is missing', { groups: [[5]] }],
  ])('fails if the list %s: nothing is read instead of it', (_, results) => {
    const each = [{ $from: 'a', path: '/*' }];
    expect(resolved({ $from: 'groups', path: '/0', each }, { a: [1], ...results })).toMatchObject({
      ok: false,
      error: { code: 'missing_path' },
    });
  });

  test('treats $item as data elsewhere, and refuses `each` in user documents', () => {
    expect(resolved({ $item: true, x: { $from: 'a' } }, { a: 1 })).toEqual(
      input({ $item: true, x: 1 }),
    );
    const tasks = [
      { id: 'a', executor: 'echo' },
      { id: 'b', executor: 'echo', dependsOn: ['a'], input: { $from: 'a', each: [1] } },
    ];
    expect(() => parseJobDocument({ tasks }, checkedSettings())).toThrow(/no field 'each'/);
  });

  test('leaves a template without references as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(value).includes('$from'));
        expect(resolved(value as Json, {})).toEqual(
          input(JSON.parse(JSON.stringify(value)) as Json),
        );
      }),
    );
  });

  test('replaces references by whole results and parts of results', () => {
    const template = {
      all: { $from: 'fetch' },
      rows: [
        { $from: 'fetch', path: '/body/rows' },
        { $from: 'count', path: '' },
      ],
      fixed: 'x',
    };
    const fetch = { body: { rows: [1, 2] } };
    expect(resolved(template, { fetch, count: 7 })).toEqual(
      input({ all: fetch, rows: [[1, 2], 7], fixed: 'x' }),
    );
  });

  test('gives null for a dependency without a result, whatever the path', () => {
    expect(resolved({ a: { $from: 'warm', path: '/deep/er' } }, {})).toEqual(input({ a: null }));
  });

  test('treats a null result as a result', () => {
    expect(resolved({ $from: 'a' }, { a: null })).toEqual(input(null));
    expect(resolved({ $from: 'a', path: '/x' }, { a: null })).toMatchObject({ ok: false });
  });

  test('names the path that a result does not have', () => {
    expect(resolved([{ $from: 'fetch', path: '/body/rows/9' }], { fetch: { body: {} } })).toEqual({
      ok: false,
      error: {
        code: 'missing_path',
        message: "The result of task 'fetch' has nothing at '/body/rows/9'.",
        task: 'fetch',
        path: '/body/rows/9',
      },
      skipped: null,
    });
  });

  test('reports the first of several missing paths', () => {
    const template = [
      { $from: 'a', path: '/1' },
      { $from: 'a', path: '/2' },
    ];
    expect(resolved(template, { a: {} })).toMatchObject({ error: { path: '/1' } });
  });

  test('does not look for references inside results', () => {
    const tricky = { $from: 'secret' };
    expect(resolved({ $from: 'a' }, { a: tricky, secret: 1 })).toEqual(input(tricky));
  });

  test('never changes a result', () => {
    const result = Object.freeze({ list: Object.freeze([Object.freeze({ a: 1 })]) });
    expect(resolved({ x: { $from: 'r', path: '/list' } }, { r: result })).toEqual(
      input({ x: [{ a: 1 }] }),
    );
  });

  test('keeps a field named __proto__ a field', () => {
    const template = '{"__proto__":{"polluted":true},"a":{"$from":"t"}}';
    const outcome = resolveInput(template, () => 1, ended);
    expect(JSON.stringify(outcome.ok && outcome.input)).toBe(
      '{"__proto__":{"polluted":true},"a":1}',
    );
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('treats text that only mentions $from as text', () => {
    expect(resolved({ note: 'use "$from" here' }, {})).toEqual(input({ note: 'use "$from" here' }));
  });
});

describe('the references of an input', () => {
  test('are each named once, in order', () => {
    const template = [
      { $from: 'b' },
      { x: { $from: 'a', path: '/1' } },
      { $from: 'b', path: '/2' },
    ];
    expect(inputReferences(JSON.stringify(template))).toEqual(['b', 'a']);
  });

  test('are none in plain data and in nothing', () => {
    expect(inputReferences('{"a":[1,"x"]}')).toEqual([]);
    expect(inputReferences(null)).toEqual([]);
  });

  test('are exactly the tasks that resolving asks for', () => {
    const reference = fc.constantFrom('a', 'b', 'c').map((task): Json => ({ $from: task }));
    const { template } = fc.letrec<{ template: Json }>((tie) => ({
      template: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.integer(),
        reference,
        fc.array(tie('template'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('x', 'y'), tie('template')),
      ),
    }));
    fc.assert(
      fc.property(template, (value) => {
        const asked = new Set<TaskId>();
        const result = (task: TaskId): number => {
          asked.add(task);
          return 1;
        };
        resolveInput(JSON.stringify(value), result, ended);
        expect(new Set(inputReferences(JSON.stringify(value)))).toEqual(asked);
      }),
    );
  });
});

describe('a literal', () => {
  const data = { rows: [{ $from: 'x' }, { $literal: 1 }], path: '/a' };

  test('represents its value, whatever that looks like', () => {
    const template = JSON.stringify({ a: { $literal: data }, b: { $from: 'x' } });
    expect(inputReferences(template)).toEqual(['x']);
    expect(resolveInput(template, () => 5, ended)).toEqual({ ok: true, input: { a: data, b: 5 } });
  });

  test('is generated only for data that could be taken for a reference', () => {
    expect(asLiteral({ a: [1] })).toEqual({ a: [1] });
    const wrapped = asLiteral(data);
    expect(resolveInput(JSON.stringify(wrapped), () => 5, ended)).toEqual({
      ok: true,
      input: data,
    });
  });

  test('is accepted by the parser without inspecting its content', () => {
    const job = (input: unknown): unknown => ({ tasks: [{ id: 'a', executor: 'echo', input }] });
    const parse = (input: unknown): unknown =>
      parseJobDocument(job(input), checkedSettings()).tasks[0]?.input;
    expect(parse({ $literal: data })).toBe(JSON.stringify({ $literal: data }));
    expect(() => parse({ $literal: 1, b: 2 })).toThrow(
      "/tasks/0/input/b: A literal has no field 'b'.",
    );
    expect(() => parse({ $literal: { a: Number.NaN } })).toThrow(
      '/tasks/0/input/$literal/a: NaN is not a JSON number.',
    );
  });
});
