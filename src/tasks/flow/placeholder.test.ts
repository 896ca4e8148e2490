import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { isMillraceError } from '../../scheduler/core/index.ts';
import { type TaskRef, builtIns, defineFlow } from './index.ts';

/** Builds a flow in which `use` gets a reference; answers what came of it. */
function withRef(use: (ref: TaskRef<{ list: number[] }>) => unknown): unknown {
  let outcome: unknown;
  defineFlow({
    name: 'order',
    input: z.object({ id: z.string() }),
    build: ({ task }) => {
      const first = task('first', builtIns.echo, 1);
      try {
        outcome = use(first as unknown as TaskRef<{ list: number[] }>);
      } catch (error) {
        outcome = error;
      }
    },
  });
  return outcome;
}

test.each<[string, (ref: TaskRef<{ list: number[] }>) => unknown, string]>([
  ['text', (ref) => `It is ${ref.list as unknown as string}`, 'cannot be turned into text'],
  ['a number', (ref) => Number(ref.list), 'cannot be turned into text or a number'],
  ['toString()', (ref) => (ref.list as unknown as Date).toString(), 'cannot be turned into text'],
  ['JSON', (ref) => JSON.stringify({ a: ref.list }), 'It has no JSON form.'],
  ['a loop', (ref) => [...(ref.list as unknown as number[])], '`map` runs a task for each item.'],
  ['a spread', (ref) => ({ ...ref.list }), 'Its fields cannot be listed or spread.'],
  ['keys', (ref) => Object.keys(ref.list), 'Its fields cannot be listed or spread.'],
  ['in', (ref) => 'x' in ref.list, 'Its fields are not known yet.'],
  ['hasOwn', (ref) => Object.hasOwn(ref.list, 'x'), 'Its fields are not known yet.'],
  ['a change', (ref) => Object.assign(ref.list, { x: 1 }), 'It cannot be changed.'],
  ['a removal', (ref) => Reflect.deleteProperty(ref.list, 'x'), 'It cannot be changed.'],
  [
    'a definition',
    (ref) => Object.defineProperty(ref.list, 'x', { value: 1 }),
    'It cannot be changed.',
  ],
])('a reference refuses %s and says why', (_name, use, message) => {
  const error = withRef(use);
  expect(isMillraceError(error, 'bad_input')).toBe(true);
  expect((error as Error).message).toContain(
    "Flow 'order': first.list stands for a value that exists only when the job runs.",
  );
  expect((error as Error).message).toContain(message);
});

test('a reference refuses to be awaited', async () => {
  const awaiting = withRef((ref) => Promise.resolve(ref.list as unknown));
  const error = await Promise.resolve(awaiting).catch((reason: unknown) => reason);
  expect((error as Error).message).toContain('first.list stands for a value');
  expect((error as Error).message).toContain('It cannot be awaited.');
});

test('a reference shows itself on a console, and the same field is the same reference', () => {
  expect(withRef((ref) => inspect(ref.list[3]))).toBe('Ref(first.list[3])');
  expect(withRef((ref) => ref.list === ref.list)).toBe(true);
  expect(withRef((ref) => Object.prototype.toString.call(ref.list))).toBe('[object Object]');
  expect(withRef((ref) => inspect((ref as unknown as Record<string, unknown>)['a b']))).toBe(
    'Ref(first["a b"])',
  );
});
