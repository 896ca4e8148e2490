/** What a handler returns, throws and asks for in the wrong way has an outcome with words, in a real worker. */
import { expect, test, vi } from 'vitest';
import { expectStillAtWork, outcomes, startNode } from './single-node.ts';
import type { Outcome } from './single-node.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

type Expected = readonly [code: string, message: RegExp];

/** All of them at once: a table that differs shows every line of it. */
function expectFailures(
  found: Readonly<Record<string, Outcome>>,
  expected: Readonly<Record<string, Expected>>,
): void {
  const table = Object.entries(expected).map(([what, [code, message]]) => [
    what,
    { state: 'failed', code, message: expect.stringMatching(message) as string, result: null },
  ]);
  expect(found).toEqual(Object.fromEntries(table));
}

const bad = (words: string): Expected => [
  'bad_result',
  new RegExp(`^the result of returns ${words}$`),
];

test('a result that JSON would lose or cannot hold fails for good, and the message has its place', async () => {
  const { client, up } = await startNode();
  const expected = {
    bigint: bad('has a bigint at /sum/0, which is not JSON; make it a text'),
    function: bad('is a function, which is not JSON; use plain data'),
    symbol: bad('has a symbol at /sign, which is not JSON; use plain data'),
    cycle: bad('has a circular reference at /inner/0, which is not JSON; use plain data'),
    map: bad('has a Map at /by~1name, which is not JSON; make it a list or a plain object'),
    set: bad('is a Set, which is not JSON; make it a list or a plain object'),
    nan: bad('has NaN at /rows/0/mean, which is not JSON; use null or text for it'),
    infinity: bad('is -Infinity, which is not JSON; use null or text for it'),
    promise: bad('has a Promise at /later, which is not JSON; await it'),
    error: bad('has an Error at /0, which is not JSON; use its message'),
    bytes: bad('is a Uint8Array, which is not JSON; make it a list or base64 text'),
    noDate: bad('has an invalid date at /at, which is not JSON; use null for it'),
    tooDeep: bad('is not JSON: it is nested too deeply'),
    deep: ['bad_result', /^its result is nested deeper than 1000 levels$/],
    getter: bad('is not JSON: nobody may look'),
    five: [
      'too_large',
      /^its result is 5242882 bytes; the limit is 4194304; store large data in a file/,
    ],
    fifty: ['too_large', /^The result of returns is 52428802 bytes, .* Store large data in a file/],
  } satisfies Record<string, Expected>;
  expectFailures(await outcomes(client, 'returns', Object.keys(expected)), expected);

  const fine = await outcomes(client, 'returns', ['nothing', 'date', 'odd']);
  expect(Object.values(fine).map(({ state, result }) => [state, result])).toEqual([
    ['succeeded', null],
    ['succeeded', { at: '1970-01-01T00:00:00.000Z', list: [null] }],
    ['succeeded', 'NUL \0 and half a pair \uD800'],
  ]);
  await expectStillAtWork(client);
  expect(up.output.text()).not.toMatch(/has ended/);
});

const gaveUp = (words: string): Expected => [
  'dead',
  new RegExp(`^gave up after 1 attempt; the last error was ${words}`),
];

test('whatever a handler throws ends in a readable error', async () => {
  const { client, up } = await startNode();
  const better = 'throw an Error that says what went wrong$';
  const expected = {
    text: gaveUp('error: no luck$'),
    emptyText: gaveUp(`error: the handler threw an empty text; ${better}`),
    undefined: gaveUp(`error: the handler threw undefined; ${better}`),
    null: gaveUp(`error: the handler threw null; ${better}`),
    function: gaveUp(`error: the handler threw a function; ${better}`),
    getter: gaveUp(`error: the handler threw something that cannot be shown; ${better}`),
    proxy: gaveUp(`error: the handler threw something that cannot be shown; ${better}`),
    // Cut off at a length that every store and screen can take.
    huge: gaveUp('error: x{9000,10000} ...$'),
    odd: gaveUp('E_\uFFFD: NUL \uFFFD and half a pair \uFFFD$'),
    stack: gaveUp('error: Maximum call stack size exceeded$'),
    coded: ['funds', /^no funds$/],
  } satisfies Record<string, Expected>;
  expectFailures(await outcomes(client, 'throws', Object.keys(expected)), expected);
  await expectStillAtWork(client);
  expect(up.output.text()).not.toMatch(/has ended/);
});

const refused = (words: string): Expected => ['bad_input', new RegExp(`^${words}`)];

test('steps, sleeps, waits, maps and calls that make no sense fail for good, and say what would', async () => {
  const { client } = await startNode();
  const duration = 'Use milliseconds, text such as 90s, 2h30m or 3d, or a Date, up to ten years.$';
  const expected = {
    noStepName: refused('A step needs a name. Later attempts find .* Pass a text as the first'),
    ourStepName: refused("'\\$sleep/x' is not a valid name for a step. .* Choose another name.$"),
    longStepName: refused(
      'The name of a step has 2000 characters; the limit is 1000. Use a short name',
    ),
    noStep: refused('The step pay has no function. Pass a function'),
    stepNotJson: [
      'bad_step',
      /^the result of step pay is a Map, which is not JSON; make it a list/,
    ],
    stepTooLarge: [
      'too_large',
      /^the result of step pay is 2097154 bytes; the limit is 1048576; store/,
    ],
    stepThrowsText: gaveUp('error: no luck$'),
    sleepBefore: refused(`The sleep nap cannot last -1. ${duration}`),
    sleepNaN: refused(`The sleep nap cannot last NaN. ${duration}`),
    sleepParsecs: refused(`The sleep nap cannot last "10 parsecs". ${duration}`),
    sleepCentury: refused(`The sleep nap cannot last 3153600000000 ms. ${duration}`),
    sleepUnnamed: refused('A sleep needs a name. .* Pass a text as the first argument'),
    badTimeout: refused(`The timeout of the wait for go cannot last "soon". ${duration}`),
    badSignal: refused('"go on!" is not a valid signal name. Use 1 to 200 letters'),
    mapNoList: refused('The items of the map each are not a list. Pass an array.$'),
    mapNoTask: refused('The map each has no task to run. Pass a task'),
    mapNotJson: refused(
      "Task 'returns': the input is a bigint, which is not JSON; make it a text.$",
    ),
    callNothing: refused('The call it has nothing to run. Pass a flow or a task'),
  } satisfies Record<string, Expected>;
  expectFailures(await outcomes(client, 'waits', Object.keys(expected)), expected);
  await expectStillAtWork(client);
});
