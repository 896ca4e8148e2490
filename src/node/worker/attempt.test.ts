import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import type { Json, TaskId } from '../../scheduler/core/index.ts';
import { instant, MillraceError } from '../../scheduler/core/index.ts';
import { FatalError, InputLostError, MissingOperatorError } from '../../tasks/executors/index.ts';
import type { TaskContext } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;
let made: Rig;

beforeEach(() => {
  leader = new FakeLeader();
});

async function run(
  handler: (input: Json, context: TaskContext) => unknown,
  given: Partial<ReadyAssignment> = {},
): Promise<void> {
  made = rig({ leader, tasks: [{ name: 'task', run: handler }] });
  await made.worker.start();
  leader.give(assignment(1, 'task', given));
  await calm();
}

function lastItem(): unknown {
  return leader.items.at(-1);
}

test('a handler gets its input and a context that names its attempt', async () => {
  let seen: unknown;
  await run(
    (input, { jobId, taskId, attempt, run, fence, idempotencyKey, scheduledAt }) => {
      seen = { input, jobId, taskId, attempt, run, fence, idempotencyKey, scheduledAt };
    },
    {
      input: '{"a":[1]}',
      attempt: 2,
      run: 3,
      idempotencyKey: 'mine',
      scheduledAt: instant(1_794_704_400_000),
    },
  );
  expect(seen).toEqual({
    input: { a: [1] },
    jobId: 'job',
    taskId: 't1',
    attempt: 2,
    run: 3,
    fence: 1,
    idempotencyKey: 'mine',
    scheduledAt: new Date('2026-11-15T01:00:00Z'),
  });
  expect(lastItem()).toEqual({ kind: 'completed', lease: lease(1), result: 'null' });
});

test.each([
  { verdict: 'lost', discarded: [{ jobId: 'job', taskId: 't1', fence: 1 }] },
  { verdict: 'ok', discarded: [] },
] as const)(
  'what a handler has left on the node is discarded if the leader answers its result with lost: $verdict',
  async ({ verdict, discarded }) => {
    const seen: object[] = [];
    leader.verdict = ({ kind }) => (kind === 'completed' ? verdict : 'ok');
    const discard = (attempt: object): void => void seen.push(attempt);
    made = rig({ leader, tasks: [{ name: 'task', run: () => 1, discard }] });
    await made.worker.start();
    leader.give(assignment(1, 'task'));
    await calm();
    expect(lastItem()).toMatchObject({ kind: 'completed' });
    expect(seen).toEqual(discarded);
  },
);

test('a handler may add any number of listeners to its signal', async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  await run((_, { signal }) => {
    for (let at = 0; at < 20; at += 1) signal.addEventListener('abort', () => {});
  });
  await calm();
  expect(warnings).toEqual([]);
});

test('the generated idempotency key is the same for every attempt of a run', async () => {
  const keys: string[] = [];
  const note = (_input: Json, { idempotencyKey }: TaskContext): void => {
    keys.push(idempotencyKey);
  };
  await run(note, { input: '1' });
  await run(note, { input: '1', attempt: 2, lease: { ...lease(1), fence: 9 } });
  await run(note, { input: '1', run: 2 });
  expect(keys[0]).toBe(keys[1]);
  expect(keys[0]).not.toBe(keys[2]);
});

test.each([
  ['an error', () => new Error('no'), 'retryable', { code: 'error', message: 'no' }],
  [
    'an error with a code',
    () => Object.assign(new Error('no'), { code: 'E_NO' }),
    'retryable',
    { code: 'E_NO', message: 'no' },
  ],
  ['a fatal error', () => new FatalError('never'), 'fatal', { code: 'error', message: 'never' }],
  [
    'an error that says it is fatal',
    () => Object.assign(new Error('never'), { failure: 'fatal' }),
    'fatal',
    { code: 'error', message: 'never' },
  ],
  [
    'our own refusal of the input',
    () => new MillraceError({ code: 'bad_input', what: 'Not so.' }),
    'fatal',
    { code: 'bad_input', message: 'Not so.' },
  ],
  ['a text', () => 'just text', 'retryable', { code: 'error', message: 'just text' }],
  [
    'nothing',
    () => undefined,
    'retryable',
    {
      code: 'error',
      message: expect.stringMatching(/^the handler threw undefined; throw an Error/) as string,
    },
  ],
])('a thrown value fails the attempt: %s', async (_name, thrown, failure, error) => {
  await run(() => {
    throw thrown() as Error;
  });
  expect(lastItem()).toEqual({ kind: 'failed', lease: lease(1), failure, error });
});

test('a missing operator is reported in a searchable message', async () => {
  await run(() => {
    throw new MissingOperatorError('geo_join');
  });
  expect(lastItem()).toEqual({
    kind: 'failed',
    lease: lease(1),
    failure: 'missing',
    missing: 'geo_join',
    error: {
      code: 'missing_operator',
      message: "custom physical operator 'geo_join' is not registered on worker",
    },
  });
});

test.each([
  ['a BigInt', () => 1n, 'is a bigint, which is not JSON'],
  ['a function', () => () => 1, 'is a function, which is not JSON'],
  [
    'a cycle',
    () => {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      return cycle;
    },
    'circular',
  ],
])('a result that is not JSON fails for good: %s', async (_name, result, reason) => {
  await run(result);
  expect(lastItem()).toMatchObject({
    kind: 'failed',
    failure: 'fatal',
    error: { code: 'bad_result', message: expect.stringContaining(reason) as string },
  });
});

test.each([
  ['a result', () => 'x'.repeat(50 * 2 ** 20), 'The result of task is 52428802 bytes'],
  [
    'the result of a step',
    ({ step }: TaskContext) => step('big', () => 'x'.repeat(50 * 2 ** 20)),
    'The result of step big is 52428802 bytes',
  ],
])('what no message could carry fails for good at once: %s', async (_name, make, text) => {
  await run((_input, context) => make(context));
  expect(leader.items.filter(({ kind }) => kind === 'step')).toEqual([]);
  expect(lastItem()).toMatchObject({
    kind: 'failed',
    failure: 'fatal',
    error: { code: 'too_large', message: expect.stringContaining(text) as string },
  });
});

test('a long result of few bytes is accepted', async () => {
  await run(() => 'x'.repeat(10 * 2 ** 20));
  expect(lastItem()).toMatchObject({ kind: 'completed' });
});

test('of many progress reports the latest is sent', async () => {
  const gate = deferred();
  await run(async (_input, { progress }) => {
    progress(0.1);
    progress(0.2, 'some');
    progress(7, 'more');
    await gate.promise;
    progress(Number.NaN);
  });
  expect(leader.items).toEqual([
    { kind: 'started', lease: lease(1) },
    { kind: 'progress', lease: lease(1), fraction: 1, note: 'more' },
  ]);
  gate.resolve();
  await calm();
  expect(leader.reported.slice(2)).toEqual(['progress 1', 'completed 1']);
});

test('a handler continues after a step only when the leader has recorded it', async () => {
  const verdict = deferred();
  const done: string[] = [];
  leader.onReport = () => verdict.promise;
  await run(async (_input, { step }) => {
    const value = await step('first', () => new Date(0));
    done.push(typeof value);
  });
  expect(leader.items).toContainEqual({
    kind: 'step',
    lease: lease(1),
    name: 'first',
    body: '"1970-01-01T00:00:00.000Z"',
  });
  expect(done).toEqual([]);
  verdict.resolve();
  await calm();
  // What a later attempt would read, the first one sees as well.
  expect(done).toEqual(['string']);
});

test('a step that an earlier attempt has recorded is not executed again', async () => {
  const done: unknown[] = [];
  await run(
    async (_input, { step }) => {
      done.push(await step('first', () => done.push('again')));
      done.push(await step('second', () => 2));
    },
    { steps: [{ name: 'first', body: '{"x":1}' }] },
  );
  await calm();
  expect(done).toEqual([{ x: 1 }, 2]);
  expect(leader.items.filter(({ kind }) => kind === 'step')).toHaveLength(1);
});

test('a step under a lost lease aborts the handler', async () => {
  let thrown: unknown;
  leader.verdict = ({ kind }) => (kind === 'step' ? 'lost' : 'ok');
  await run(async (_input, { step, signal }) => {
    await step('first', () => 1).catch((error: unknown) => {
      thrown = error;
      expect(signal.aborted).toBe(true);
      throw error;
    });
  });
  expect(thrown).toMatchObject({ code: 'superseded' });
  expect(leader.reported).toEqual(['started 1', 'step 1']);
});

test('a step without a name or with a result that is not JSON fails for good', async () => {
  await run(async (_input, { step }) => {
    await expect(step('', () => 1)).rejects.toThrow('A step needs a name.');
    return step('big', () => 1n);
  });
  await calm();
  expect(lastItem()).toMatchObject({
    kind: 'failed',
    failure: 'fatal',
    error: { message: expect.stringContaining('the result of step big') as string },
  });
});

test('what a handler logs names its task', async () => {
  await run((_input, { log }) => {
    log.info('half');
    log.error('gone');
  });
  expect(made.lines).toEqual(['job/t1: half', 'job/t1: gone']);
});

test('a handler whose input is lost reports it, which is not a failure', async () => {
  const lost = [{ taskId: 's0.1' as TaskId, fence: 3 }];
  await run(() => Promise.reject(new InputLostError(lost, 'it is gone')));
  expect(lastItem()).toEqual({
    kind: 'inputLost',
    lease: lease(1),
    lost,
    error: { code: 'input_lost', message: 'it is gone' },
  });
});

test('a lost input without a name is an ordinary failure', async () => {
  await run(() => Promise.reject(new InputLostError([], 'something is gone')));
  expect(lastItem()).toMatchObject({ kind: 'failed', failure: 'retryable' });
});
