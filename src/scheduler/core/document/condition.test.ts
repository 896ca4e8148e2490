import { describe, expect, test } from 'vitest';
import type { TaskId } from '../ids.ts';
import type { Json } from '../json.ts';
import { checkedSettings } from '../settings.ts';
import { inputReferences, resolveInput } from './input.ts';
import { parseJobDocument } from './parse.ts';

const settings = checkedSettings();

/** The stored input of task `b`, which depends on `a` and, if it likes, on `warm`. */
function stored(b: object): string | null {
  const warm = { id: 'warm', required: false };
  const { tasks } = parseJobDocument(
    {
      tasks: [
        { id: 'a', executor: 'echo' },
        { id: 'warm', executor: 'echo' },
        { id: 'other', executor: 'echo' },
        { id: 'b', executor: 'echo', dependsOn: ['a', warm], ...b },
      ],
    },
    settings,
  );
  return tasks[3]?.input ?? null;
}

const resolved = (b: object, results: Readonly<Record<string, Json>>): unknown =>
  resolveInput(
    stored(b),
    (task: TaskId) => results[task],
    (task: TaskId) => (task in results ? 'succeeded' : 'failed'),
  );

const holds = (when: object, a: Json): boolean =>
  (resolved({ when: { $from: 'a', ...when } }, { a }) as { ok: boolean }).ok;

describe('a condition on the end of a task', () => {
  const unless = { when: { $from: 'warm', succeeded: false } };
  const only = { when: { $from: 'warm', succeeded: true } };

  test('tells success from any other end, whatever the result', () => {
    expect(resolved(unless, { a: 1 })).toMatchObject({ ok: true });
    expect(resolved(only, { a: 1, warm: null })).toMatchObject({ ok: true });
    expect(resolved(unless, { a: 1, warm: null })).toEqual({
      ok: false,
      error: null,
      skipped: "'warm' has succeeded",
    });
    expect(resolved(only, { a: 1 })).toMatchObject({ skipped: "'warm' has failed" });
  });

  test('is true or false, and has no path', () => {
    expect(() => stored({ when: { $from: 'a', succeeded: 1 } })).toThrow(
      '/tasks/3/when/succeeded: Must be true or false, not 1.',
    );
    expect(() => stored({ when: { $from: 'a', path: '', succeeded: true } })).toThrow(
      "/tasks/3/when/path: 'succeeded' tests the state of the task, not its result.",
    );
  });
});

describe('a condition', () => {
  test.each([
    ['is true', true, true],
    ['is text', 'x', true],
    ['is a number', -1, true],
    ['is an empty list', [], true],
    ['is an empty object', {}, true],
    ['is false', false, false],
    ['is 0', 0, false],
    ['is empty text', '', false],
    ['is null', null, false],
  ] as const)('without a comparison: a result that %s', (_, result, wanted) => {
    expect(holds({}, result)).toBe(wanted);
  });

  test.each([
    [{ '=': 3 }, 3, true],
    [{ '=': 3 }, '3', false],
    [{ '=': null }, null, true],
    [{ '=': { a: 1, b: [2] } }, { b: [2], a: 1 }, true],
    [{ '!=': 3 }, 4, true],
    [{ '!=': 3 }, 3, false],
    [{ '>': 3 }, 4, true],
    [{ '>': 3 }, 3, false],
    [{ '>=': 3 }, 3, true],
    [{ '<': 3 }, 2, true],
    [{ '<=': 3 }, 4, false],
    [{ '>': 'a' }, 'b', true],
    [{ '>': 3 }, '4', false],
    [{ '<': 3 }, null, false],
    [{ in: ['x', 3, { y: 1 }] }, { y: 1 }, true],
    [{ in: ['x', 3] }, 'y', false],
    [{ in: [] }, 'y', false],
  ] as const)('%j on the result %j: %s', (when, result, wanted) => {
    expect(holds(when, result as Json)).toBe(wanted);
  });

  test.each(['=', '>', '>=', '<', '<='])(
    'on a place that is not there, %s does not hold',
    (test) => {
      expect(holds({ path: '/no/where', [test]: 0 }, { x: 1 })).toBe(false);
    },
  );

  test('on a place that is not there, only != holds', () => {
    expect(holds({ path: '/no' }, {})).toBe(false);
    expect(holds({ path: '/no', in: [null] }, {})).toBe(false);
    expect(holds({ path: '/no', '!=': null }, {})).toBe(true);
  });

  test('tests the value at its path', () => {
    expect(holds({ path: '/list/1/ok' }, { list: [0, { ok: true }] })).toBe(true);
  });

  test('on a task without a result is like one on a missing value', () => {
    const input = { ok: true, input: null };
    expect(resolved({ when: { $from: 'warm', '!=': 1 } }, { a: 1 })).toEqual(input);
    expect(resolved({ when: { $from: 'warm', '=': 1 } }, { a: 1 })).toMatchObject({ ok: false });
  });

  test('with several tests holds only if all do, and the first that fails is named', () => {
    const when = [
      { $from: 'a', path: '/n', '>': 1 },
      { $from: 'a', path: '/s', in: ['x', 'y'] },
    ];
    expect(resolved({ when }, { a: { n: 2, s: 'y' } })).toEqual({ ok: true, input: null });
    expect(resolved({ when }, { a: { n: 2, s: 'z' } })).toEqual({
      ok: false,
      error: null,
      skipped: "the result of 'a' at '/s' is 'z'; it must be in ['x', 'y']",
    });
  });

  test('is evaluated before the input is resolved', () => {
    const b = { when: { $from: 'a', path: '/go' }, input: { $from: 'a', path: '/missing' } };
    expect(resolved(b, { a: {} })).toEqual({
      ok: false,
      error: null,
      skipped: "the result of 'a' at '/go' is missing; it must be something",
    });
    expect(resolved(b, { a: { go: 1 } })).toMatchObject({ error: { code: 'missing_path' } });
  });

  test('leaves the input as it is', () => {
    const b = { when: { $from: 'a' }, input: { n: 1, from: { $from: 'a' } } };
    expect(resolved(b, { a: 7 })).toEqual({ ok: true, input: { n: 1, from: 7 } });
  });

  test('needs the results of the tasks that it names, and of those in the input', () => {
    const b = { when: [{ $from: 'warm', '=': 1 }], input: [{ $from: 'a' }] };
    expect(inputReferences(stored(b))).toEqual(['warm', 'a']);
  });

  test('compares with any data, also data that looks like a reference', () => {
    const b = { when: { $from: 'a', '=': { $when: 1 } } };
    expect(resolved(b, { a: { $when: 1 } })).toEqual({ ok: true, input: null });
  });
});

describe('the three ends of a task', () => {
  const held = (end: 'succeeded' | 'failed' | 'skipped', test: object): boolean =>
    resolveInput(
      stored({ when: { $from: 'warm', ...test } }),
      () => undefined,
      () => end,
    ).ok;

  test.each(['succeeded', 'failed', 'skipped'] as const)('%s holds for that end only', (test) => {
    for (const end of ['succeeded', 'failed', 'skipped'] as const) {
      expect(held(end, { [test]: true })).toBe(end === test);
      expect(held(end, { [test]: false })).toBe(end !== test);
    }
  });
});

describe('what is stored', () => {
  test('has nothing around an input without a condition', () => {
    expect(stored({ input: { n: 1 } })).toBe('{"n":1}');
    expect(stored({ input: 'a "$when" in text' })).toBe('"a \\"$when\\" in text"');
    expect(stored({ when: [], input: 1 })).toBe('1');
    expect(stored({ when: [] })).toBe(null);
  });

  test('keeps an input that has a key $when of its own apart from conditions', () => {
    const input = { $when: [{ $from: 'not a reference' }], more: 1 };
    expect(() => stored({ input })).toThrow(/not a dependency/);
    const plain = { $when: 'later', more: 1 };
    expect(resolved({ input: plain }, {})).toEqual({ ok: true, input: plain });
    expect(resolved({ input: plain, when: { $from: 'a' } }, { a: 1 })).toEqual({
      ok: true,
      input: plain,
    });
    expect(stored({ input: { deep: { $when: 1 } } })).toBe('{"deep":{"$when":1}}');
  });
});

describe('a condition is refused', () => {
  const refused = (when: unknown): string => {
    try {
      stored({ when });
    } catch (error) {
      return String(error);
    }
    return 'taken';
  };

  test.each([
    ['when it is not an object', 3, '/tasks/3/when: A condition must be an object, not 3.'],
    ['when it is null', null, '/tasks/3/when: A condition must be an object, not null.'],
    ['without a task', { '=': 1 }, "/tasks/3/when/$from: The field '$from' is missing."],
    [
      'for a task that is not a dependency',
      { $from: 'other' },
      "/tasks/3/when/$from: 'other' is not a dependency",
    ],
    ['in a list, with its place', [{ $from: 'a' }, { $from: 'x' }], '/tasks/3/when/1/$from'],
    ['with a path that is none', { $from: 'a', path: 'x' }, '/tasks/3/when/path'],
    [
      'with two comparisons',
      { $from: 'a', '>': 1, '<': 3 },
      "one comparison, not both '>' and '<'",
    ],
    ['with an unknown comparison', { $from: 'a', '==': 1 }, "has no field '=='"],
    ['when it is more than an object', { $from: 'a', '>': {} }, 'Must be a number or text'],
    ['when a number is none', { $from: 'a', '=': NaN }, 'is not a JSON number'],
    ['when a set is not a list', { $from: 'a', in: 'x' }, 'Must be a list of values'],
    [
      'with a path into an end',
      { $from: 'warm', path: '/x', failed: true },
      "'failed' tests the state",
    ],
    ['when an end is not a flag', { $from: 'warm', skipped: 1 }, 'Must be true or false'],
    [
      'when it tests whether a required dependency has failed',
      { $from: 'a', failed: true },
      'tests whether \'a\' has failed, but in that case this task does not run. Write { "id": "a", "required": false }',
    ],
    [
      'when it tests whether a required dependency was skipped',
      { $from: 'a', skipped: true },
      '"required": "unlessSkipped"',
    ],
    ['when it compares with a reference', { $from: 'a', '=': { $from: 'warm' } }, 'plain value'],
  ])('%s', (_, when, text) => {
    expect(refused(when)).toContain(text);
  });

  test('when it is too large', () => {
    const when = { $from: 'a', '=': 'x'.repeat(settings.inputBytesMax + 70_000) };
    expect(refused(when)).toContain('/tasks/3/when: The condition with the input is');
  });
});
