/** Handlers as people write them on their first day. A worker loads this file as it would any user's. */
import { setTimeout as delay } from 'node:timers/promises';
import { defineFlow, defineTask } from 'millrace';
import type { Json, TaskContext } from 'millrace';

const double = defineTask({ name: 'careless-double', run: (n: number) => n * 2 });
/** Nobody registers it: it is known by those who call it. */
const child = defineFlow({ name: 'child', build: ({ task }) => task('double', double, 21) });

const PEOPLE = ['Ada', 'Bob', 'Cid'];
const MIB = 2 ** 20;
const later = (ms: number): Promise<void> => delay(ms);
const wrong = <T>(value: unknown): T => value as T;

async function* people(): AsyncGenerator<string> {
  for (const person of PEOPLE) {
    await later(1);
    yield person;
  }
}

type Handler = (context: TaskContext, input: { list: string[] }) => unknown;

const handlers: Readonly<Record<string, Handler>> = {
  loopOverCustomers: async (ctx) => {
    const receipts = [];
    for (const person of PEOPLE) receipts.push(await ctx.step('charge', () => `paid by ${person}`));
    return receipts;
  },
  catchesEverything: async (ctx) => {
    for (const person of PEOPLE) {
      try {
        await ctx.step('charge', () => person);
      } catch {
        // Whatever it was, it must go on.
      }
    }
    return 'all charged';
  },
  allWithOneName: (ctx) =>
    Promise.all(PEOPLE.map((person) => ctx.step('charge', () => later(5).then(() => person)))),
  allWithNames: (ctx) =>
    Promise.all(PEOPLE.map((person) => ctx.step(`charge ${person}`, () => person))),
  forEachAsync: (ctx) => {
    // What the linter warns of is what is tried here.
    // oxlint-disable-next-line typescript/no-misused-promises
    PEOPLE.forEach(async (person) => {
      await ctx.step(`charge ${person}`, () => later(5).then(() => person));
      await ctx.step(`tell ${person}`, () => person);
    });
    return 'all charged';
  },
  asyncIteration: async (ctx) => {
    const charged = [];
    for await (const person of people()) charged.push(await ctx.step(person, () => person));
    return charged;
  },
  forgotAwait: (ctx) => {
    void ctx.step('charge', () => later(20).then(() => 'paid'));
    return 'charged';
  },
  forgotAwaitOnSleep: (ctx) => {
    void ctx.sleep('a while', '1h');
    return 'rested';
  },
  stepInStep: (ctx) => ctx.step('outer', async () => [await ctx.step('inner', () => 1)]),
  sleepInStep: (ctx) =>
    ctx.step('outer', async () => {
      await later(1);
      await ctx.sleep('a while', '1h');
    }),
  pollsWithOneSleep: async (ctx) => {
    for (let round = 0; round < 3; round += 1) await ctx.sleep('poll', 5);
  },
  raceOfSleepAndCall: (ctx) =>
    Promise.race([ctx.sleep('limit', '1h').then(() => 'late'), ctx.call('child', child, null)]),
  stepWithTimer: (ctx) =>
    Promise.race([ctx.step('slow', () => later(50)), later(1).then(() => 'too slow')]),
  settledSteps: async (ctx) => {
    const bad = ctx.step('bad', () => Promise.reject(new Error('no luck')));
    const ends = await Promise.allSettled([ctx.step('good', () => 1), bad]);
    return ends.map(({ status }) => status);
  },
  oddNames: async (ctx) => {
    const names = ['ä/ö #1', '漢字', 'a\nb\t', ' ', '🦆', '../..', "'; drop table step; --", '{}'];
    for (const name of names) await ctx.step(name, () => name);
    await ctx.sleep('nap 🦆', 5);
    return names.length;
  },
  nulInName: (ctx) => ctx.step('a\0b', () => 1),
  reservedName: (ctx) => ctx.step('$sleep/x', () => 1),
  numberAsName: (ctx) => ctx.step(wrong(5), () => 1),
  valueForFunction: (ctx) => ctx.step('a', wrong(Promise.resolve(1))),
  hugeStep: (ctx) => ctx.step('big', () => 'x'.repeat(2 * MIB)),
  mapInStep: (ctx) => ctx.step('people', () => new Map([['Ada', 1]])),
  mapsAnObject: (ctx) => ctx.map('all', double, wrong({ a: 1 })),
  mapsWithBadName: (ctx) => ctx.map('all of them!', double, [1]),
  mapsNothing: (ctx) => ctx.map('all', double, []),
  mapsUnknown: (ctx) => ctx.map('all', wrong<typeof double>(undefined), [1]),
  callsAFunction: (ctx) => ctx.call('child', wrong<typeof child>('child'), null),
  returnsNothing: async (ctx) => {
    await ctx.step('charge', () => undefined);
  },
  changesItsInput: async (ctx, input) => {
    input.list.push('more');
    if (ctx.attempt === 1) throw new Error('try again');
    return input.list;
  },
  usesContextLater: (ctx) => {
    setTimeout(() => void ctx.step('charge', () => 'paid'), 1);
    return 'done';
  },
};

export const careless = defineTask({
  name: 'careless',
  retry: { maxAttempts: 2, backoffMs: 1 },
  run: ({ how, list }: { how: string; list: string[] }, ctx): Promise<Json> | Json =>
    handlers[how]?.(ctx, { list }) as Promise<Json>,
});
