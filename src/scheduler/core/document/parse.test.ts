import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { taskNo } from '../ids.ts';
import { checkedSettings, defaultSettings } from '../settings.ts';
import { defaultOptions } from './options.ts';
import { jobDocumentReader, parseJobDocument, parseTaskDocuments } from './parse.ts';

const settings = defaultSettings;
const parse = (value: unknown): ReturnType<typeof parseJobDocument> =>
  parseJobDocument(value, settings);

/** The public example, word for word. */
const example = {
  name: 'nightly',
  priority: 2,
  idempotencyKey: '2026-11-15',
  tasks: [
    {
      id: 'fetch',
      executor: 'http',
      input: { url: 'https://example.org/x' },
      retry: { maxAttempts: 5, backoffMs: 250 },
      timeouts: { queueMs: 60000, runMs: 30000 },
    },
    {
      id: 'sum',
      executor: 'myFunction',
      dependsOn: ['fetch', { id: 'warm', required: false }],
      input: { rows: { $from: 'fetch', path: '/body/rows' } },
      placement: {
        executorsAny: ['a', 'b'],
        capabilities: { gpu: 'nvidia', cpu_cores: { '>=': 8 } },
        allowedNodes: ['w-1'],
        forbiddenNodes: ['w-9'],
        maxParallelPerNode: 1,
      },
    },
    { id: 'warm', executor: 'echo', input: 1 },
  ],
};

describe('a job document', () => {
  test('from the guide is read field by field', () => {
    const job = parse(example);
    expect(job).toMatchObject({
      name: 'nightly',
      priority: 2,
      idempotencyKey: '2026-11-15',
      maxParallel: null,
      onFailure: 'finish',
      totalMs: null,
    });
    const [fetch, sum, warm] = job.tasks;
    expect(fetch).toMatchObject({ input: '{"url":"https://example.org/x"}', dependsOn: [] });
    expect(fetch?.options.retry).toMatchObject({ maxAttempts: 5, maxLosses: settings.maxLosses });
    expect(fetch?.options.timeouts).toEqual({ queueMs: 60_000, runMs: 30_000, totalMs: null });
    expect(sum?.dependsOn).toEqual([
      { no: 0, required: true },
      { no: 2, required: false },
    ]);
    expect(sum?.options.placement).toEqual({
      executors: [],
      executorsAny: ['a', 'b'],
      capabilities: { cpu_cores: { '>=': 8 }, gpu: 'nvidia' },
      allowedNodes: ['w-1'],
      forbiddenNodes: ['w-9'],
      maxParallelPerNode: 1,
    });
    expect(warm).toMatchObject({ id: 'warm', executor: 'echo', input: '1', parent: null });
  });

  test('needs nothing but a task with an id and an executor', () => {
    expect(parse({ tasks: [{ id: 'a', executor: 'echo' }] })).toEqual({
      name: 'job',
      priority: 2,
      idempotencyKey: null,
      maxParallel: null,
      onFailure: 'finish',
      totalMs: null,
      labels: [],
      runAt: null,
      options: {
        keep: 'all',
        webhooks: [],
        fairnessKey: null,
        debounce: null,
        singleton: null,
        batch: null,
        cancelOn: [],
        whenFailed: null,
        trace: null,
      },
      output: null,
      tasks: [
        {
          id: 'a',
          executor: 'echo',
          priority: 2,
          parent: null,
          dependsOn: [],
          idempotencyKey: null,
          options: defaultOptions(settings),
          input: null,
        },
      ],
    });
  });

  test('takes every field that there is', () => {
    const job = parse({
      name: 'all',
      priority: 0,
      maxParallel: 4,
      onFailure: 'cancel',
      timeouts: { totalMs: 1_000 },
      tasks: [
        { id: 'a', executor: 'echo', priority: 3, idempotencyKey: 'k' },
        { id: 'b', executor: 'echo', parent: 'a', concurrency: { key: 'db', limit: 2 } },
      ],
    });
    expect(job).toMatchObject({ maxParallel: 4, onFailure: 'cancel', totalMs: 1_000 });
    expect(job.tasks).toMatchObject([
      { priority: 3, idempotencyKey: 'k', parent: null },
      { priority: 0, parent: 0, options: { concurrency: { key: 'db', limit: 2 } } },
    ]);
  });

  test('treats an undefined field as absent, as JSON would', () => {
    const task = {
      id: 'a',
      executor: 'echo',
      retry: undefined,
      input: undefined,
      other: undefined,
    };
    expect(parse({ name: undefined, tasks: [task] }).name).toBe('job');
  });

  test('stores no negative zero, which JSON would turn into another value', () => {
    const job = parse({
      priority: -0,
      tasks: [{ id: 'a', executor: 'x', retry: { backoffMs: -0 } }],
    });
    expect(job.priority).toBe(0);
    expect(job.tasks[0]?.options.retry.backoffMs).toBe(0);
  });

  test('shares one object between tasks whose options are equal', () => {
    const { tasks } = parse({
      tasks: [
        { id: 'a', executor: 'x' },
        { id: 'b', executor: 'x', retry: { maxAttempts: settings.maxAttempts } },
        { id: 'c', executor: 'x', retry: { maxAttempts: 9 }, placement: {} },
        { id: 'd', executor: 'x', retry: { maxAttempts: 9 } },
      ],
    });
    expect(tasks[0]?.options).toBe(defaultOptions(settings));
    expect(tasks[1]?.options).toBe(tasks[0]?.options);
    expect(tasks[3]?.options).toBe(tasks[2]?.options);
  });

  test('may refer to tasks that come later, and have a node both allowed and forbidden', () => {
    const placement = { allowedNodes: ['w-1', 'w-2'], forbiddenNodes: ['w-1'] };
    const { tasks } = parse({
      tasks: [
        { id: 'a', executor: 'x', dependsOn: ['b'], parent: 'b', placement },
        { id: 'b', executor: 'x' },
      ],
    });
    expect(tasks[0]).toMatchObject({ dependsOn: [{ no: 1, required: true }], parent: 1 });
  });

  test('of 100,000 tasks in one chain, last first, is read without overflowing the stack', () => {
    const count = 100_000;
    const tasks = Array.from({ length: count }, (_, at) => {
      const no = count - 1 - at;
      return {
        id: `t${no}`,
        executor: 'echo',
        dependsOn: no === 0 ? [] : [`t${no - 1}`],
        parent: no === 0 ? undefined : `t${no - 1}`,
      };
    });
    expect(parse({ tasks }).tasks).toHaveLength(count);
    const ring = tasks.with(count - 1, {
      id: 't0',
      executor: 'echo',
      dependsOn: [`t${count - 1}`],
      parent: undefined,
    });
    expect(refusalOf(() => parse({ tasks: ring })).what).toBe(
      'The dependencies form a cycle: t99999 -> t99998 -> t99997 -> t99996 -> ... 99995 more ... -> t0 -> t99999.',
    );
  });

  test('is read in time that grows with its edges, not with their square', () => {
    const count = 50_000;
    const leaves = Array.from({ length: count }, (_, at) => ({ id: `t${at}`, executor: 'echo' }));
    const all = leaves.map(({ id }) => id);
    const input = all.slice(0, 20_000).map((id) => ({ $from: id }));
    const sink = { id: 'sink', executor: 'sum', dependsOn: all, input };
    expect(parse({ tasks: [sink, ...leaves] }).tasks[0]?.dependsOn).toHaveLength(count);
  });

  test('prefixes paths with the given one', () => {
    const refusal = refusalOf(() => parseJobDocument({ tasks: [{}] }, settings, '/3'));
    expect(refusal.path).toBe('/3/tasks/0/id');
    expect(refusal.message).toContain('/3/tasks/0/id: ');
  });

  test('has the limits of its settings', () => {
    const tight = checkedSettings({ documentBytesMax: 300, tasksPerJobMax: 2, inputBytesMax: 10 });
    const refused = (value: unknown): object => {
      const { code, path } = refusalOf(() => parseJobDocument(value, tight));
      return { code, path };
    };
    const task = (id: string, input: unknown): object => ({ id, executor: 'x', input });
    expect(parseJobDocument({ tasks: [task('a', '€€\u00fc')] }, tight).tasks[0]?.input).toBe(
      '"€€ü"',
    );
    expect(refused({ tasks: [task('a', '€€€')] })).toEqual({
      code: 'too_large',
      path: '/tasks/0/input',
    });
    expect(refused({ tasks: [task('a', 1), task('b', 1), task('c', 1)] })).toEqual({
      code: 'too_large',
      path: '/tasks',
    });
    expect(refused({ name: 'x'.repeat(300), tasks: [] })).toEqual({
      code: 'too_large',
      path: undefined,
    });
  });
});

describe('tasks for a running job', () => {
  const known = new Map([
    ['root', taskNo(0)],
    ['other', taskNo(1)],
  ]);
  const add = (value: unknown): ReturnType<typeof parseTaskDocuments> =>
    parseTaskDocuments(value, settings, known, 1);

  test('are numbered on from those it has', () => {
    const tasks = add([
      { id: 'a', executor: 'x', parent: 'root' },
      { id: 'b', executor: 'x', parent: 'a', dependsOn: ['a'], input: { $from: 'a' }, priority: 0 },
    ]);
    expect(tasks).toMatchObject([
      { id: 'a', parent: 0, dependsOn: [], priority: 1 },
      { id: 'b', parent: 2, dependsOn: [{ no: 2, required: true }], priority: 0 },
    ]);
  });

  test('may be none', () => {
    expect(add([])).toEqual([]);
  });

  test.each([
    ['an id that the job has', [{ id: 'root', executor: 'x' }], '/0/id', 'already'],
    [
      'a dependency on an old task',
      [{ id: 'a', executor: 'x', dependsOn: ['other'] }],
      '/0/dependsOn/0',
      'already in the job',
    ],
    ['an unknown parent', [{ id: 'a', executor: 'x', parent: 'nobody' }], '/0/parent', 'no task'],
    [
      'a cycle',
      [
        { id: 'a', executor: 'x', dependsOn: ['b'] },
        { id: 'b', executor: 'x', dependsOn: ['a'] },
      ],
      '/0/dependsOn/0',
      'a -> b -> a',
    ],
    [
      'a cycle of parents',
      [
        { id: 'a', executor: 'x', parent: 'b' },
        { id: 'b', executor: 'x', parent: 'a' },
      ],
      '/0/parent',
      'a -> b -> a',
    ],
    ['no list', { id: 'a' }, undefined, 'must be a list'],
  ])('are refused for %s', (_, value, path, words) => {
    const refusal = refusalOf(() => add(value));
    expect(refusal).toMatchObject({ code: 'bad_input', path });
    expect(refusal.what).toContain(words);
  });

  test('count with those that the job has', () => {
    const tight = checkedSettings({ tasksPerJobMax: 2 });
    const refusal = refusalOf(() => parseTaskDocuments([{ id: 'a', executor: 'x' }], tight, known));
    expect(refusal).toMatchObject({ code: 'too_large' });
    expect(refusal.what).toContain('on top of 2');
  });

  describe('that come again with a repeated attempt', () => {
    const again = {
      size: 2,
      get: (id: string) => known.get(id),
      mayExist: (id: string) => id === 'other',
    };
    const tasks = [
      { id: 'other', executor: 'x' },
      { id: 'new', executor: 'x' },
    ];

    test('are accepted if they are the same', () => {
      expect(parseTaskDocuments(tasks, settings, again)).toMatchObject(tasks);
      const refusal = refusalOf(() =>
        parseTaskDocuments([{ id: 'root', executor: 'x' }], settings, again),
      );
      expect(refusal).toMatchObject({ code: 'bad_input', path: '/0/id' });
    });

    test('are not counted twice', () => {
      const tight = checkedSettings({ tasksPerJobMax: 3 });
      expect(parseTaskDocuments(tasks, tight, again)).toHaveLength(2);
      const more = [...tasks, { id: 'newer', executor: 'x' }];
      const refusal = refusalOf(() => parseTaskDocuments(more, tight, again));
      expect(refusal.what).toContain('2 tasks on top of 2 exceed the limit');
    });
  });
});

test('a document of many tasks is read in portions, and a short one at once', () => {
  const document = (length: number): unknown => ({
    tasks: Array.from({ length }, (_, no) => ({ id: `t${no}`, executor: 'echo' })),
  });
  const read = (value: unknown): { readonly portions: number; readonly document: unknown } => {
    const reading = jobDocumentReader(value, settings);
    for (let portions = 1; ; portions += 1) {
      const step = reading.next();
      if (step.done === true) return { portions, document: step.value };
    }
  };
  expect(read(document(2_000)).portions).toBe(1);
  const large = read(document(20_000));
  expect(large.portions).toBeGreaterThan(10);
  expect(large.document).toEqual(parseJobDocument(document(20_000), settings));
});
