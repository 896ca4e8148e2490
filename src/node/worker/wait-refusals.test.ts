/** What a handler cannot ask for: it fails for good, with words. */
import { beforeEach, expect, test } from 'vitest';
import { calm, rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment } from '../../../test/rig/fake-leader.ts';
import type { JobId, Json } from '../../scheduler/core/index.ts';
import type { Callable, TaskContext } from '../../tasks/executors/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;

beforeEach(() => {
  leader = new FakeLeader();
});

type Handler = (context: TaskContext) => unknown;

async function run(handler: Handler, given: Partial<ReadyAssignment> = {}): Promise<void> {
  const made = rig({
    leader,
    slots: 1,
    prefetch: 0,
    tasks: [{ name: 'task', run: (_input: Json, context) => handler(context) }],
  });
  await made.worker.start();
  leader.give(assignment(1, 'task', given));
  await calm();
}

function lastItem(): unknown {
  return leader.items.at(-1);
}

function failure(code: string, text: string): object {
  return {
    kind: 'failed',
    failure: 'fatal',
    error: { code, message: expect.stringContaining(text) as string },
  };
}

const child: Callable<number, string> = {
  name: 'child',
  toDocument: (input) => ({ name: 'child', tasks: [{ id: 'a', executor: 'echo', input }] }),
  readResult: (result) => `read ${JSON.stringify(result)}`,
};

test.each([
  ['text that is not a duration', 'soon', '"soon"'],
  ['less than nothing', -1, '-1'],
  ['more than ten years', '4000d', '345600000000 ms'],
  ['nothing at all', undefined, 'undefined'],
  ['no number', Number.NaN, 'NaN'],
])('a sleep cannot last %s', async (_name, duration, shown) => {
  await run(({ sleep: nap }) => nap('night', duration as string));
  expect(lastItem()).toMatchObject(
    failure('bad_input', `The sleep night cannot last ${shown}. Use milliseconds`),
  );
});

test.each([
  ['a signal', ({ waitFor }: TaskContext) => waitFor('a/b'), 'is not a valid signal name'],
  ['a sleep', ({ sleep: nap }: TaskContext) => nap('', 1), 'A sleep needs a name.'],
  [
    'a call',
    ({ call }: TaskContext) => call('$x', child, 1),
    "'$x' is not a valid name for a call.",
  ],
  [
    'a step',
    ({ step }: TaskContext) => step('$x', () => 1),
    "'$x' is not a valid name for a step.",
  ],
  [
    'a long wait',
    ({ waitFor }: TaskContext) => waitFor('go', { as: 'x'.repeat(1_001) }),
    'has 1001 characters',
  ],
])('a bad name is refused for good: %s', async (_name, handler, text) => {
  await run(handler);
  expect(lastItem()).toMatchObject(failure('bad_input', text));
});

test('call, map and step require a flow, a task or a function', async () => {
  const nothing = undefined as never;
  await run(({ call }) => call('it', nothing, 1));
  expect(lastItem()).toMatchObject(failure('bad_input', 'The call it has nothing to run.'));
  await run(({ map }) => map('all', nothing, [1]));
  expect(lastItem()).toMatchObject(failure('bad_input', 'The map all has no task to run.'));
  await run(({ step }) => step('once', nothing));
  expect(lastItem()).toMatchObject(failure('bad_input', 'The step once has no function.'));
});

test('a call that is too deep, not JSON or too large fails for good', async () => {
  await run(({ call }) => call('it', child, 1), { jobId: 'j'.repeat(190) as JobId });
  expect(lastItem()).toMatchObject(failure('bad_input', 'an id of 203 characters'));
  await run(({ call }) => call('it', { ...child, toDocument: () => 1n }, 1));
  expect(lastItem()).toMatchObject(failure('bad_input', 'The document of the call it is a bigint'));
  const half = { ...child, toDocument: () => 'x'.repeat(9 * 2 ** 20) };
  await run(({ call }) => Promise.all([call('a', half, 1), call('b', half, 1)]));
  expect(lastItem()).toMatchObject(failure('too_large', 'The jobs that this task calls'));
});
