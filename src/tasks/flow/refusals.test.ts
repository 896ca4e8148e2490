/** Mistakes in a flow are reported when it is defined, with the names of the flow and the task. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { builtIns, defineFlow, defineTask } from './index.ts';

const { echo } = builtIns;
const done = defineTask({ name: 'done', run: () => ({ ok: true }) });
const limited = defineTask({ name: 'limited', concurrency: { key: 'k', limit: 1 }, run: () => 1 });

/** Without types, as a program in JavaScript would write it. */
interface LooseKit {
  readonly input: Record<string, unknown>;
  readonly task: (...rest: unknown[]) => Record<string, unknown>;
  readonly map: (...rest: unknown[]) => Record<string, unknown>;
  readonly orNull: (...rest: unknown[]) => unknown;
  readonly is: (...rest: unknown[]) => unknown;
}

function refusal(build: unknown, others: object = {}): string {
  try {
    defineFlow({
      name: 'order',
      input: z.object({ id: z.string() }),
      build: build as () => undefined,
      ...others,
    });
  } catch (error) {
    expect(isMillraceError(error, 'bad_input')).toBe(true);
    return (error as Error).message;
  }
  throw new Error('it was not refused');
}

let foreign: unknown;
defineFlow({
  name: 'other',
  build: ({ task }) => {
    foreign = task('theirs', done);
  },
});
const loop: Record<string, unknown> = {};
loop['self'] = loop;

test.each<[(kit: LooseKit) => unknown, string]>([
  [() => {}, 'it has no task.'],
  [async ({ task }) => task('a', echo), "'build' must not be async."],
  [({ task }) => task('a b', echo), '"a b" is not a valid task id. Use 1 to 200 letters'],
  [({ task }) => task(7, echo), 'the number 7 is not a valid task id.'],
  [({ task }) => task('_input', echo), "the id '_input' is already in use."],
  [({ task }) => [task('a', echo), task('a', echo)], "there are two tasks with the id 'a'."],
  [({ task }) => task('a', { name: 'x' }), 'an object cannot be run as a task.'],
  [
    ({ task }) => task('b', done, task('a', done)['ok'], { when: 1 }),
    "'when' takes a reference or",
  ],
  [({ input, is }) => is(input, '~', 1), `'is' cannot compare with "~". Use one of = != >`],
  [({ is }) => is(5, '=', 5), "'is' compares a reference, not the number 5."],
  [({ orNull }) => orNull(5), "'orNull' takes a reference, not the number 5."],
])('a flow is refused that is not valid: %#', (build, message) => {
  const text = refusal(build);
  expect(text).toContain("Flow 'order'");
  expect(text).toContain(message);
});

test.each<[(kit: LooseKit) => unknown, string]>([
  [({ task }) => task('a', echo, foreign), "theirs belongs to the flow 'other'."],
  [({ task }) => task('a', echo, 1, { after: [foreign] }), "theirs belongs to the flow 'other'."],
  [({ task }) => task('a', echo, 1, { when: foreign }), "theirs belongs to the flow 'other'."],
  [({ task }) => task('a', echo, { x: [1, NaN] }), 'NaN is not a JSON number, at /x/1.'],
  [({ task }) => task('a', echo, { x: [undefined] }), 'a list cannot hold undefined, at /x/0.'],
  [({ task }) => task('a', echo, { x: 1n }), 'the bigint 1 is not JSON, at /x.'],
  [({ task }) => task('a', echo, () => 1), 'a function is not JSON.'],
  [({ task }) => task('a', echo, new Date(0)), 'an instance of Date is not plain JSON.'],
  [({ task }) => task('a', echo, { x: Promise.resolve(1) }), 'a promise is not a value, at /x.'],
  [({ task }) => task('a', echo, { $from: 'b' }), 'the key $from is reserved, at /$from.'],
  [({ task }) => task('a', echo, loop), 'the value contains itself or is nested too deeply'],
  [({ task }) => task('a', echo, 1, { retires: 1 }), "unknown option 'retires'."],
  [({ task }) => task('a', echo, 1, 5), 'must be an object, not the number 5.'],
  [({ task }) => task('a', echo, 1, { retry: { maxAttempts: 0 } }), '/retry/maxAttempts: Must be'],
  [({ task }) => task('a', echo, 1, { after: 'b' }), `'after' takes a list of tasks, not "b".`],
  [
    ({ input, task }) => task('a', echo, 1, { after: [input['id']] }),
    "'after' takes tasks, not the input",
  ],
  [({ map }) => map('a', done, 5), "'map' runs for each item of a list, not of the number 5."],
  [({ map }) => map('a', done), "'map' runs for each item of a list, not of undefined."],
  [
    ({ map }) => map('a', done, [], { concurrency: 0 }),
    "'concurrency' must be a whole number above",
  ],
  [
    ({ map }) => map('a', limited, [], { concurrency: 2 }),
    "the task 'limited' has a limit of its own",
  ],
  [({ map }) => map('a', done, [], { retry: { maxAttempts: -1 } }), '/retry/maxAttempts: Must be'],
  [({ task }) => task('a', 'bad\0name'), '/executor: The text'],
  [({ task }) => task('a', echo, 1, { idempotencyKey: 5 }), "'idempotencyKey' must be text, not"],
  [
    ({ task }) => task('a', echo, 1, { concurrency: { key: 5, limit: 1 } }),
    "'concurrency.key' must be text, not the number 5.",
  ],
])('a task of a flow is refused that is not valid: %#', (build, message) => {
  const text = refusal((kit: LooseKit) => {
    build(kit);
  });
  expect(text).toContain("Flow 'order', task 'a': ");
  expect(text).toContain(message);
});

test.each<[(kit: LooseKit, a: Record<string, unknown>) => unknown, string]>([
  [({ task }, a) => task('b', echo, 1, { after: ['a'] }) ?? a, `not "a".`],
  [
    ({ task }, a) => task('b', echo, a, { optional: [a] }),
    "'a' cannot be optional: the task needs",
  ],
  [({ task }, a) => task('b', echo, 1, { after: [a], optional: [a] }), "'a' cannot be optional"],
  [
    ({ task }, a) => task('b', echo, 1, { idempotencyKey: a['key'] }),
    "'idempotencyKey' is made with a plain value or one part of the flow's input.",
  ],
  [
    ({ task, is }, a) => task('b', echo, 1, { when: is(a['x'], '=', a['y']) }),
    "a condition compares with a plain value or one part of the flow's input.",
  ],
  [
    ({ task, is }, a) => task('b', echo, 1, { when: is(a['x'], '=', undefined) }),
    "'when' compares a.x with undefined. Use null.",
  ],
  [
    ({ task }) => task('b', defineTask({ name: 'done', run: () => 1 })),
    "there are two different tasks with the name 'done' in this flow.",
  ],
  [
    ({ task }) => task('b', defineFlow({ name: 'f', build: ({ task }) => void task('x', echo) })),
    'a flow cannot be a task of another flow.',
  ],
])('the second task of a flow is refused that is not valid: %#', (build, message) => {
  const text = refusal((kit: LooseKit) => {
    build(kit, kit.task('a', done));
  });
  expect(text).toContain("Flow 'order', task 'b': ");
  expect(text).toContain(message);
});

test('the types say which result may be null', () => {
  const skipping =
    (result: (kit: LooseKit, last: Record<string, unknown>) => unknown) => (kit: LooseKit) => {
      const a = kit.task('a', done, null, { when: kit.input['id'] });
      const b = kit.task('b', done, null, { after: [a] });
      const last = kit.task('c', done, b['ok']);
      return result(kit, last);
    };
  expect(refusal(skipping((_kit, last) => ({ last: last['ok'] })))).toBe(
    "Flow 'order', its result: the task 'c' may be skipped, and then c.ok is null. " +
      'Use orNull(c.ok).',
  );
  expect(() =>
    defineFlow({
      name: 'order',
      input: z.object({ id: z.string() }),
      build: ({ input, task, orNull }) => {
        const a = task('a', done, null, { when: input.id });
        const b = task('b', done, orNull(a.ok));
        const c = task('c', done, null, { optional: [a] });
        return { a: orNull(a.ok), b, c };
      },
    }),
  ).not.toThrow();
  expect(refusal(() => foreign)).toBe(
    "Flow 'order', its result: theirs belongs to the flow 'other'. " +
      'A flow can use results of its own tasks only; what it needs from outside is its input.',
  );
});

test('the flow itself is refused that is not valid', () => {
  const build = ({ task }: LooseKit): void => void task('a', echo);
  expect(refusal(build, { name: 'a b' })).toContain('Flow: "a b" is not a valid name.');
  expect(refusal(5)).toBe("Flow 'order': 'build' must be a function, not the number 5.");
  expect(refusal(build, { input: 'x' })).toContain(`Flow 'order': 'input' must be a schema`);
  expect(refusal(build, { maxParallel: 0 })).toContain("Flow 'order': /maxParallel: Must be a");
  expect(refusal(build, { onFailure: 'stop' })).toContain("Flow 'order': /onFailure: Must be");
  expect(refusal(build, { prioriy: 1 })).toContain("Did you mean 'priority'?");
});

test('the arguments of `build` cannot be used after it', () => {
  let late: LooseKit['task'] | undefined;
  defineFlow({
    name: 'order',
    build: ({ task }) => {
      late = task as unknown as LooseKit['task'];
      task('a', echo);
    },
  });
  expect(() => late?.('b', echo)).toThrow("Flow 'order': it has already been built.");
});

test('the same task may be used many times, and names from elsewhere too', () => {
  const flow = defineFlow({
    name: 'order',
    build: ({ task }) => {
      task('a', done);
      task('b', done);
      task('c', 'elsewhere');
      task('d', echo);
      task('e', 'echo');
    },
  });
  expect(flow.tasks).toEqual([done]);
});
