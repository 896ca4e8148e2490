/** Handlers that would lose work silently: each fails for good, and the error names what is wrong. */
import { beforeEach, describe, expect, test } from 'vitest';
import { calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment } from '../../../test/rig/fake-leader.ts';
import type { Json } from '../../scheduler/core/index.ts';
import type { Callable, Mappable, TaskContext } from '../../tasks/executors/index.ts';
import { deferred } from '../../kit/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

let leader: FakeLeader;
let made: Rig;

beforeEach(() => {
  leader = new FakeLeader();
});

async function run(
  handler: (context: TaskContext) => unknown,
  given: Partial<ReadyAssignment> = {},
): Promise<void> {
  made = rig({
    leader,
    tasks: [{ name: 'task', run: (_input: Json, context) => handler(context) }],
  });
  await made.worker.start();
  leader.give(assignment(1, 'task', given));
  await calm();
}

function expectFailedForGood(code: string, ...words: readonly string[]): void {
  const [end] = leader.items.slice(-1);
  expect(end).toMatchObject({ kind: 'failed', failure: 'fatal', error: { code } });
  const { message } = (end as { error: { message: string } }).error;
  for (const word of words) expect(message).toContain(word);
}

const child: Callable<Json, Json> = {
  name: 'child',
  toDocument: () => ({ tasks: [{ id: 'only', executor: 'echo' }] }),
  readResult: (result) => result,
};
const item: Mappable<Json, Json> = {
  name: 'item',
  toTask: () => ({ executor: 'echo' }),
  readResult: (result) => result,
};

describe('a name that is used twice in one attempt', () => {
  test('a step name that is repeated in a loop fails the task', async () => {
    const charged: string[] = [];
    await run(async ({ step }) => {
      for (const customer of ['Ada', 'Bob', 'Cid']) {
        await step('charge', () => charged.push(customer));
      }
      return 'all three are charged';
    });
    expect(charged).toEqual(['Ada']);
    expectFailedForGood('duplicate_step', "The step 'charge' is used twice", '${item.id}');
  });

  test('concurrent steps may not share a name', async () => {
    const charged: string[] = [];
    await run(({ step }) =>
      Promise.all(['Ada', 'Bob'].map((each) => step('charge', () => charged.push(each)))),
    );
    expect(charged).toEqual(['Ada']);
    expectFailedForGood('duplicate_step', "'charge'");
  });

  test('a handler that catches the error fails all the same, and executes nothing more', async () => {
    const done: string[] = [];
    await run(async ({ step, sleep: nap }) => {
      for (const customer of ['Ada', 'Bob']) {
        try {
          await step('charge', () => done.push(customer));
        } catch {
          await step('note', () => done.push('note')).catch(() => {});
        }
      }
      await nap('night', '1h').catch(() => {});
      return 'fine';
    });
    expect(done).toEqual(['Ada']);
    expectFailedForGood('duplicate_step', "'charge'");
  });

  test('a step that threw has used its name too', async () => {
    await run(async ({ step }) => {
      await step('charge', () => {
        throw new Error('no money');
      }).catch(() => {});
      return step('charge', () => 'paid');
    });
    expectFailedForGood('duplicate_step', 'try a failed step again', 'give it { retry }');
  });

  test('a recorded step answers once, and not twice', async () => {
    await run(async ({ step }) => [await step('a', () => 1), await step('b', () => 2)], {
      steps: [{ name: 'a', body: '"from before"' }],
    });
    expect(leader.items.at(-1)).toMatchObject({ kind: 'completed', result: '["from before",2]' });
    leader = new FakeLeader();
    await run(async ({ step }) => [await step('a', () => 1), await step('a', () => 2)], {
      steps: [{ name: 'a', body: '"from before"' }],
    });
    expectFailedForGood('duplicate_step', "'a'");
  });

  test.each<[string, (context: TaskContext) => Promise<unknown>, string]>([
    ['a sleep', ({ sleep: nap }) => Promise.all([nap('n', 1), nap('n', 2)]), "The sleep 'n'"],
    ['a wait', ({ waitFor }) => Promise.all([waitFor('go'), waitFor('go')]), "{ as: 'second' }"],
    [
      'a call',
      ({ call }) => Promise.all([call('c', child, 1), call('c', child, 2)]),
      "The call 'c'",
    ],
    [
      'a submission',
      ({ submit }) => Promise.all([submit('s', child, 1), submit('s', child, 2)]),
      "The submission 's'",
    ],
    ['a map', ({ map }) => Promise.all([map('m', item, [1]), map('m', item, [2])]), "The map 'm'"],
  ])('holds for %s as well', async (_what, handler, words) => {
    await run(handler);
    expectFailedForGood('duplicate_step', words);
  });

  test('kinds do not share their names', async () => {
    await run(
      async ({ step, sleep: nap, waitFor }) => {
        await step('go', () => 1);
        await Promise.race([nap('go', '1h'), waitFor('go')]);
        return 'on';
      },
      { steps: [{ name: '$signal/go', body: '{"value":1}' }] },
    );
    expect(leader.items.at(-1)).toMatchObject({ kind: 'completed', result: '"on"' });
  });
});

describe('a promise that nobody awaits', () => {
  test.each<[string, (context: TaskContext) => unknown, string]>([
    ['a step', ({ step }) => void step('charge', () => 1), "ctx.step('charge')"],
    [
      'a step that never ends',
      ({ step }) => void step('charge', () => new Promise(() => {})),
      "ctx.step('charge')",
    ],
    ['a sleep', ({ sleep: nap }) => void nap('night', '1h'), "ctx.sleep('night')"],
    ['a wait', ({ waitFor }) => void waitFor('go'), "ctx.waitFor('go')"],
    ['a call', ({ call }) => void call('c', child, 1), "ctx.call('c')"],
    ['a submission', ({ submit }) => void submit('s', child, 1), "ctx.submit('s')"],
    ['a map', ({ map }) => void map('m', item, [1]), "ctx.map('m')"],
    ['a chain', ({ step }) => void step('charge', () => 1).then(() => 2), "ctx.step('charge')"],
    [
      'a chain whose errors are thrown away',
      ({ step }) => void step('charge', () => 1).catch(() => {}),
      "ctx.step('charge')",
    ],
  ])('fails the task when it is %s', async (_what, handler, words) => {
    await run((context) => {
      handler(context);
      return 'done';
    });
    await calm();
    expectFailedForGood('unawaited_step', words, "Write 'await'");
  });

  test('fails the task when the step has failed long before', async () => {
    await run(async ({ step }) => {
      void step('charge', () => {
        throw new Error('no money');
      });
      await step('other', () => 1);
      return 'done';
    });
    await calm();
    expectFailedForGood('unawaited_step', "ctx.step('charge')");
  });

  test('of a function that continues after the handler has returned is detected by its next step', async () => {
    const charged: string[] = [];
    await run(({ step }) => {
      const chargeAll = async (): Promise<void> => {
        for (const each of ['Ada', 'Bob']) {
          await step(`charge ${each}`, () => charged.push(each));
        }
      };
      void chargeAll();
      return 'all are charged';
    });
    await calm();
    expect(charged).toEqual(['Ada']);
    expectFailedForGood(
      'unawaited_step',
      "ctx.step('charge Bob')",
      'after the handler had returned',
    );
  });

  test('is not a fault when it lost a race', async () => {
    await run(
      ({ sleep: nap, waitFor, call }) =>
        Promise.race([nap('limit', '1h').then(() => 'late'), call('c', child, 1), waitFor('go')]),
      { steps: [{ name: '$signal/go', body: '{"value":"go"}' }] },
    );
    expect(leader.items.at(-1)).toMatchObject({ kind: 'completed', result: '"go"' });
  });

  test('is not a fault when it is awaited later', async () => {
    await run(async ({ step }) => {
      const first = step('first', () => 1);
      const second = step('second', () => 2);
      return [await second, await first];
    });
    await calm();
    expect(leader.items.at(-1)).toMatchObject({ kind: 'completed', result: '[2,1]' });
  });
});

describe('a step at work when its handler ends', () => {
  test('is awaited when a concurrent one has failed, and is recorded', async () => {
    const gate = deferred<string>();
    await run(({ step }) =>
      Promise.all([
        step('slow', () => gate.promise),
        step('bad', () => {
          throw new Error('no luck');
        }),
      ]),
    );
    expect(leader.reported).toEqual(['started 1']);
    gate.resolve('paid');
    await calm();
    expect(leader.reported).toEqual(['started 1', 'step 1', 'failed 1']);
    expect(leader.items.at(-1)).toMatchObject({ failure: 'retryable', error: { code: 'error' } });
  });

  test('is awaited when it lost a race', async () => {
    const gate = deferred<string>();
    await run(({ step }) =>
      Promise.race([step('slow', () => gate.promise), step('fast', () => 'fast')]),
    );
    expect(leader.reported).toEqual(['started 1', 'step 1']);
    gate.resolve('slow');
    await calm();
    expect(leader.reported).toEqual(['started 1', 'step 1', 'step 1', 'completed 1']);
    expect(leader.items.at(-1)).toMatchObject({ result: '"fast"' });
  });
});

describe('a wait inside a step', () => {
  test.each<[string, (context: TaskContext) => Promise<unknown>, string]>([
    ['a sleep', ({ sleep: nap }) => nap('night', '1h'), "ctx.sleep('night')"],
    ['a wait', ({ waitFor }) => waitFor('go'), "ctx.waitFor('go')"],
    ['a call', ({ call }) => call('c', child, 1), "ctx.call('c')"],
    ['a submission', ({ submit }) => submit('s', child, 1), "ctx.submit('s')"],
    ['a map', ({ map }) => map('m', item, [1]), "ctx.map('m')"],
  ])('fails the task instead of waiting for ever: %s', async (_what, wait, words) => {
    await run((context) =>
      context.step('outer', async () => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        await wait(context);
        return 'never';
      }),
    );
    await calm();
    expectFailedForGood('wait_in_step', words, "the step 'outer'");
  });

  test('is allowed when the wait runs beside the step', async () => {
    await run(({ step, sleep: nap }) => Promise.all([step('work', () => 1), nap('night', '1h')]));
    await calm();
    expect(leader.reported).toEqual(['started 1', 'step 1', 'suspended 1']);
  });

  test('a step inside a step is recorded like any other', async () => {
    await run(({ step }) => step('outer', async () => [await step('inner', () => 1)]));
    await calm();
    expect(leader.reported).toEqual(['started 1', 'step 1', 'step 1', 'completed 1']);
    expect(leader.items.at(-1)).toMatchObject({ result: '[1]' });
  });
});

test('requests after the handler has ended are not executed, and the log says so', async () => {
  const done: string[] = [];
  let late: TaskContext | null = null;
  await run((context) => {
    late = context;
    return 1;
  });
  void late!.step('charge', () => done.push('charge'));
  await calm();
  expect(done).toEqual([]);
  expect(made.lines.join('\n')).toContain(
    "ctx.step('charge') was called after the handler had ended",
  );
});
