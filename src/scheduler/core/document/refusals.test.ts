/** What a job document is refused for, field by field. */
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { defaultSettings } from '../settings.ts';
import { parseJobDocument } from './parse.ts';

const parse = (value: unknown): unknown => parseJobDocument(value, defaultSettings);

type Case = readonly [why: string, part: unknown, path: string | undefined, words: string];

function expectRefusal(value: unknown, path: string | undefined, words: string): void {
  const refusal = refusalOf(() => parse(value));
  expect(refusal).toMatchObject({ code: 'bad_input', path });
  expect(refusal.message).toContain(words);
}

const ok = { id: 'a', executor: 'echo' };
const long = 'x'.repeat(201);

describe('a job document is refused', () => {
  const cases: readonly Case[] = [
    ['when it is null', null, undefined, 'must be an object, not null'],
    ['when it is a list', [ok], undefined, 'not a list'],
    ['when it is text', 'job', undefined, "not 'job'"],
    ['when it is undefined', undefined, undefined, 'not undefined'],
    ['without tasks', {}, '/tasks', 'missing'],
    ['with no task', { tasks: [] }, '/tasks', 'empty'],
    [
      'with tasks that are no list',
      { tasks: { a: ok } },
      '/tasks',
      'Must be a list, not an object',
    ],
    ['with an unknown field', { tasks: [ok], owner: 'me' }, '/owner', "no field 'owner'"],
    [
      'with a misspelt field',
      { tasks: [ok], max_parallel: 1 },
      '/max_parallel',
      "Did you mean 'maxParallel'?",
    ],
    ['with a field that needs escaping', { tasks: [ok], 'a/b~c': 1 }, '/a~1b~0c', 'no field'],
    [
      'with a part of a query',
      { tasks: [{ id: 'a', executor: 'sql.fragment' }] },
      '/tasks/0/executor',
      "Use the executor 'sql'",
    ],
    ['with an empty name', { tasks: [ok], name: '' }, '/name', 'is empty'],
    ['with a NUL in the name', { tasks: [ok], name: 'a\0' }, '/name', 'control character'],
    ['with a lone surrogate in the name', { tasks: [ok], name: '\uDC00' }, '/name', 'surrogate'],
    ['with a name that is a number', { tasks: [ok], name: 7 }, '/name', 'Must be text, not 7'],
    ['with a long key', { tasks: [ok], idempotencyKey: long }, '/idempotencyKey', '201 characters'],
    [
      'with a key that is null',
      { tasks: [ok], idempotencyKey: null },
      '/idempotencyKey',
      'not null',
    ],
    ['with priority 4', { tasks: [ok], priority: 4 }, '/priority', 'from 0 to 3, not 4'],
    ['with priority -1', { tasks: [ok], priority: -1 }, '/priority', 'not -1'],
    ['with priority 1.5', { tasks: [ok], priority: 1.5 }, '/priority', 'not 1.5'],
    ['with priority NaN', { tasks: [ok], priority: NaN }, '/priority', 'not NaN'],
    ['with priority "1"', { tasks: [ok], priority: '1' }, '/priority', "not '1'"],
    ['with maxParallel 0', { tasks: [ok], maxParallel: 0 }, '/maxParallel', 'from 1'],
    [
      'with maxParallel Infinity',
      { tasks: [ok], maxParallel: Infinity },
      '/maxParallel',
      'Infinity',
    ],
    [
      'with an unknown onFailure',
      { tasks: [ok], onFailure: 'Cancel' },
      '/onFailure',
      "Did you mean 'cancel'?",
    ],
    [
      'with onFailure true',
      { tasks: [ok], onFailure: true },
      '/onFailure',
      "one of 'finish', 'cancel', not true",
    ],
    [
      'with a time limit of 0',
      { tasks: [ok], timeouts: { totalMs: 0 } },
      '/timeouts/totalMs',
      'from 1',
    ],
    [
      'with a run limit for the job',
      { tasks: [ok], timeouts: { runMs: 5 } },
      '/timeouts/runMs',
      'no field',
    ],
    ['with a task that is null', { tasks: [ok, null] }, '/tasks/1', 'A task must be an object'],
    ['with a hole in the list', { tasks: Array.from({ length: 1 }) }, '/tasks/0', 'not undefined'],
    [
      'with one id twice',
      { tasks: [ok, { id: 'b', executor: 'x' }, ok] },
      '/tasks/2/id',
      'already used by the task at index 0',
    ],
  ];
  test.each(cases)('%s', (_, value, path, words) => {
    expectRefusal(value, path, words);
  });
});

describe('a task is refused', () => {
  const retry = (part: object): object => ({ retry: part });
  const cases: readonly Case[] = [
    ['without an id', { id: undefined }, '/id', 'missing'],
    ['with a null id', { id: null }, '/id', 'must be text, not null'],
    ['with an empty id', { id: '' }, '/id', "'' is not a valid id"],
    ['with a slash in the id', { id: 'a/b' }, '/id', 'is not a valid id'],
    ['with a NUL in the id', { id: 'a\0b' }, '/id', 'is not a valid id'],
    ['with a long id', { id: long }, '/id', 'is not a valid id'],
    ['without an executor', { executor: undefined }, '/executor', 'missing'],
    ['with an empty executor', { executor: '' }, '/executor', 'is empty'],
    ['with a NUL in the executor', { executor: '\0' }, '/executor', 'control'],
    ['with an unknown field', { executer: 'x' }, '/executer', "Did you mean 'executor'?"],
    ['with a bad priority', { priority: 9 }, '/priority', 'from 0 to 3'],
    ['with an empty key', { idempotencyKey: '' }, '/idempotencyKey', 'is empty'],
    ['with an unknown parent', { parent: 'nobody' }, '/parent', "no task 'nobody'"],
    ['with a misspelt parent', { parent: 'otter' }, '/parent', "Did you mean 'other'?"],
    ['with itself as parent', { parent: 'a' }, '/parent', 'its own parent'],
    ['with a parent that is a number', { parent: 0 }, '/parent', 'must be text, not 0'],
    ['with dependsOn that is text', { dependsOn: 'other' }, '/dependsOn', 'Must be a list'],
    ['with an unknown dependency', { dependsOn: ['other', 'x'] }, '/dependsOn/1', "no task 'x'"],
    [
      'with an unknown dependency in long form',
      { dependsOn: [{ id: 'x' }] },
      '/dependsOn/0/id',
      "no task 'x'",
    ],
    ['when it depends on itself', { dependsOn: ['a'] }, '/dependsOn/0', 'depends on itself'],
    [
      'with a dependency twice',
      { dependsOn: ['other', { id: 'other', required: false }] },
      '/dependsOn/1/id',
      'twice',
    ],
    ['with a dependency that is a number', { dependsOn: [1] }, '/dependsOn/0', 'not 1'],
    ['with a dependency without id', { dependsOn: [{}] }, '/dependsOn/0/id', 'missing'],
    [
      'with a dependency id that is none',
      { dependsOn: ['a b'] },
      '/dependsOn/0',
      'is not a valid id',
    ],
    [
      'with required that is text',
      { dependsOn: [{ id: 'other', required: 'no' }] },
      '/dependsOn/0/required',
      "Must be true, false or 'unlessSkipped', not 'no'.",
    ],
    [
      'with an unknown field in a dependency',
      { dependsOn: [{ id: 'other', optional: true }] },
      '/dependsOn/0/optional',
      'no field',
    ],
    ['with 0 attempts', retry({ maxAttempts: 0 }), '/retry/maxAttempts', 'from 1 to 100'],
    ['with 101 attempts', retry({ maxAttempts: 101 }), '/retry/maxAttempts', 'from 1 to 100'],
    ['with 2.5 attempts', retry({ maxAttempts: 2.5 }), '/retry/maxAttempts', 'not 2.5'],
    ['with attempts as text', retry({ maxAttempts: '3' }), '/retry/maxAttempts', "not '3'"],
    ['with a negative back-off', retry({ backoffMs: -1 }), '/retry/backoffMs', 'not -1'],
    [
      'with a ceiling below the back-off',
      retry({ backoffMs: 9, maxBackoffMs: 8 }),
      '/retry/maxBackoffMs',
      'is less than backoffMs',
    ],
    ['with no loss allowed', retry({ maxLosses: 0 }), '/retry/maxLosses', 'from 1'],
    ['with an unknown retry field', retry({ attempts: 3 }), '/retry/attempts', 'no field'],
    ['with retry that is a number', { retry: 3 }, '/retry', "'retry' must be an object"],
    ['with a queue limit of 0', { timeouts: { queueMs: 0 } }, '/timeouts/queueMs', 'from 1'],
    ['with a negative run limit', { timeouts: { runMs: -5 } }, '/timeouts/runMs', 'from 1'],
    [
      'with an endless total limit',
      { timeouts: { totalMs: Infinity } },
      '/timeouts/totalMs',
      'Infinity',
    ],
    [
      'with a limit of a thousand years',
      { timeouts: { runMs: 3e13 } },
      '/timeouts/runMs',
      'from 1 to',
    ],
    [
      'with a concurrency limit of 0',
      { concurrency: { key: 'k', limit: 0 } },
      '/concurrency/limit',
      'from 1',
    ],
    ['without a concurrency limit', { concurrency: { key: 'k' } }, '/concurrency/limit', 'missing'],
    ['without a concurrency key', { concurrency: { limit: 1 } }, '/concurrency/key', 'missing'],
    [
      'with a NUL in the concurrency key',
      { concurrency: { key: '\0', limit: 1 } },
      '/concurrency/key',
      'control',
    ],
  ];
  test.each(cases)('%s', (_, part, path, words) => {
    const task = { ...ok, ...(part as object) };
    expectRefusal({ tasks: [{ id: 'other', executor: 'x' }, task] }, `/tasks/1${path}`, words);
  });
});

describe('a placement is refused', () => {
  const cases: readonly Case[] = [
    ['when it is a list', [], '', 'must be an object'],
    ['with an empty allow list', { allowedNodes: [] }, '/allowedNodes', 'allows no node'],
    [
      'with a node id that is none',
      { forbiddenNodes: ['a/b'] },
      '/forbiddenNodes/0',
      'not a valid id',
    ],
    [
      'with an empty choice of executors',
      { executorsAny: [] },
      '/executorsAny',
      'no executor to choose',
    ],
    ['with an executor that is a number', { executors: [1] }, '/executors/0', 'Must be text'],
    [
      'with a hole in a list',
      { executors: Array.from({ length: 1 }) },
      '/executors/0',
      'undefined',
    ],
    [
      'with too many nodes',
      { allowedNodes: Array.from({ length: 1_001 }, (_, at) => `n${at}`) },
      '/allowedNodes',
      '1001 entries',
    ],
    ['with maxParallelPerNode 0', { maxParallelPerNode: 0 }, '/maxParallelPerNode', 'from 1'],
    ['with an unknown field', { nodes: ['w'] }, '/nodes', 'no field'],
    [
      'with capabilities as a list',
      { capabilities: ['gpu'] },
      '/capabilities',
      'must be an object',
    ],
    ['with an empty capability name', { capabilities: { '': 1 } }, '/capabilities/', 'is empty'],
    [
      'with a null test',
      { capabilities: { gpu: null } },
      '/capabilities/gpu',
      'null is not a valid capability value',
    ],
    ['with a test of NaN', { capabilities: { cpu: NaN } }, '/capabilities/cpu', 'NaN is not'],
    ['with an empty test', { capabilities: { gpu: {} } }, '/capabilities/gpu', 'has no operator'],
    ['with an empty list', { capabilities: { tags: [] } }, '/capabilities/tags', 'has no effect'],
    [
      'with an unknown operator',
      { capabilities: { cpu: { '=>': 8 } } },
      '/capabilities/cpu/=>',
      'is not a valid operator',
    ],
    [
      'with >= of text',
      { capabilities: { cpu: { '>=': '8' } } },
      '/capabilities/cpu/>=',
      'takes a number',
    ],
    [
      'with in of one value',
      { capabilities: { gpu: { in: 'amd' } } },
      '/capabilities/gpu/in',
      'takes a list',
    ],
    [
      'with has of a flag',
      { capabilities: { gpu: { has: true } } },
      '/capabilities/gpu/has',
      "Use '='",
    ],
    [
      'with a list in a list',
      { capabilities: { tags: [['a']] } },
      '/capabilities/tags/0',
      'a list is not',
    ],
  ];
  test.each(cases)('%s', (_, placement, path, words) => {
    expectRefusal({ tasks: [{ ...ok, placement }] }, `/tasks/0/placement${path}`, words);
  });
});

describe('an input is refused', () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = { loop };
  let deep: unknown = 1;
  for (let level = 0; level < 201; level += 1) deep = [deep];
  class Point {
    readonly x = 1;
  }
  const cases: readonly Case[] = [
    ['with a function inside', { f: () => 1 }, '/f', 'a function is not a JSON value'],
    ['with undefined inside', { a: [1, { b: undefined }] }, '/a/1/b', 'undefined is not'],
    ['with a hole in a list', Array.from({ length: 2 }), '/0', 'undefined is not'],
    ['that is a function', () => 1, '', 'a function'],
    ['with a bigint', { n: 5n }, '/n', 'the bigint 5n is not'],
    ['with a symbol', [Symbol('s')], '/0', 'a symbol is not'],
    ['with NaN', { a: { b: NaN } }, '/a/b', 'NaN is not a JSON number'],
    ['with Infinity', [-Infinity], '/0', '-Infinity is not'],
    ['that is NaN', NaN, '', 'NaN is not'],
    ['with a Date', { at: new Date(0) }, '/at', "An instance of 'Date' is not plain JSON"],
    ['with a Map', new Map(), '', "'Map'"],
    ['with an instance', { p: new Point() }, '/p', "'Point'"],
    ['with its own toJSON', { toJSON: () => 1 }, '/toJSON', 'a function'],
    ['that contains itself', loop, '', 'Contains itself'],
    ['that is too deep', deep, '', 'deeper than 200'],
    ['that refers to no dependency', { $from: 'other' }, '/$from', "'other' is not a dependency"],
    ['that refers to itself', { x: { $from: 'a' } }, '/x/$from', 'is not a dependency'],
    ['that misspells a dependency', [{ $from: 'dap' }], '/0/$from', "Did you mean 'dep'?"],
    ['with a $from that is not text', { $from: 1 }, '/$from', '1 is not a dependency'],
    ['with a $from that is null', { $from: null }, '/$from', 'null is not a dependency'],
    [
      'with more than path beside $from',
      { $from: 'dep', as: 1 },
      '/as',
      "A reference has no field 'as'",
    ],
    ['with a malformed pointer', { $from: 'dep', path: 'body' }, '/path', 'is not a JSON Pointer'],
    [
      'with a bad escape in a pointer',
      { $from: 'dep', path: '/a~2' },
      '/path',
      'is not a JSON Pointer',
    ],
    [
      'with a pointer that is a number',
      { $from: 'dep', path: 1 },
      '/path',
      '1 is not a JSON Pointer',
    ],
    [
      'with a pointer that is undefined',
      { $from: 'dep', path: undefined },
      '/path',
      'undefined is not',
    ],
  ];
  test.each(cases)('%s', (_, input, path, words) => {
    const tasks = [
      { ...ok, dependsOn: ['dep'], input },
      { id: 'dep', executor: 'x' },
      { id: 'other', executor: 'x' },
    ];
    expectRefusal({ tasks }, `/tasks/0/input${path}`, words);
  });

  test('but any JSON is accepted, and stored as it is', () => {
    const input = { a: [1, null, { b: true, '\uD800': '\0' }], __proto: { $FROM: 'x' }, n: 1e300 };
    const job = parseJobDocument({ tasks: [{ ...ok, input }] }, defaultSettings);
    expect(JSON.parse(job.tasks[0]?.input ?? '')).toEqual(input);
  });

  test('but 200 levels are accepted', () => {
    const [inner] = deep as [unknown];
    const job = parseJobDocument({ tasks: [{ ...ok, input: inner }] }, defaultSettings);
    expect(job.tasks[0]?.input).toHaveLength(401);
  });
});

describe('a graph is refused', () => {
  const task = (id: string, ...dependsOn: unknown[]): object => ({ id, executor: 'x', dependsOn });

  test('when two tasks wait for each other', () => {
    const tasks = [task('start'), task('a', 'start', 'b'), task('b', 'a')];
    expectRefusal({ tasks }, '/tasks/1/dependsOn/1', 'a cycle: a -> b -> a.');
  });

  test('when an optional dependency closes the circle', () => {
    const tasks = [task('a', 'c'), task('b', { id: 'a', required: false }), task('c', 'b')];
    expectRefusal({ tasks }, '/tasks/0/dependsOn/0', 'a -> c -> b -> a');
  });

  test('when the parents form a circle', () => {
    const child = (id: string, parent: string): object => ({ id, executor: 'x', parent });
    expectRefusal(
      { tasks: [child('a', 'b'), child('b', 'c'), child('c', 'b')] },
      '/tasks/1/parent',
      'b -> c -> b',
    );
  });
});
