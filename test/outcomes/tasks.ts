/** Tasks that do what they should not. A worker loads this file as it would any user's. */
import { defineFlow, defineTask } from 'millrace';
import type { Json, Task, TaskContext } from 'millrace';
import { z } from 'zod';

const cycle = (): unknown => {
  const outer: { inner?: unknown } = {};
  outer.inner = [outer];
  return outer;
};

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};

const MIB = 2 ** 20;

const results: Readonly<Record<string, () => unknown>> = {
  bigint: () => ({ sum: [1n] }),
  function: () => () => 1,
  symbol: () => ({ sign: Symbol('x') }),
  cycle,
  map: () => ({ 'by/name': new Map([['a', 1]]) }),
  set: () => new Set([1]),
  nan: () => ({ rows: [{ mean: 0 / 0 }] }),
  infinity: () => -1 / 0,
  promise: () => ({ later: Promise.resolve(1) }),
  error: () => [new Error('lost')],
  bytes: () => new Uint8Array(2),
  noDate: () => ({ at: new Date(Number.NaN) }),
  tooDeep: () => nested(100_000),
  deep: () => nested(2_000),
  getter: () => ({
    get secret(): string {
      throw new Error('nobody may look');
    },
  }),
  five: () => 'x'.repeat(5 * MIB),
  fifty: () => 'x'.repeat(50 * MIB),
  nothing: () => undefined,
  date: () => ({ at: new Date(0), gone: undefined, method: () => 1, list: [undefined] }),
  odd: () => 'NUL \0 and half a pair \uD800',
};

export const returns = defineTask({
  name: 'returns',
  retry: { maxAttempts: 1 },
  run: (what: string): unknown => results[what]?.(),
});

/** Looking at it throws, whatever one looks for. */
function untouchable(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const thrown: Readonly<Record<string, () => unknown>> = {
  text: () => 'no luck',
  emptyText: () => '',
  undefined: () => undefined,
  null: () => null,
  function: () => () => 1,
  getter: () => ({
    get message(): string {
      throw new Error('nobody may look');
    },
  }),
  proxy: untouchable,
  huge: () => new Error('x'.repeat(50 * MIB)),
  odd: () => Object.assign(new Error('NUL \0 and half a pair \uD800'), { code: 'E_\0' }),
  stack: () => {
    const deeper = (): number => deeper() + 1;
    return deeper();
  },
  coded: () => Object.assign(new Error('no funds'), { code: 'funds', failure: 'fatal' }),
};

export const throwing = defineTask({
  name: 'throws',
  retry: { maxAttempts: 1 },
  run: (what: string): never => {
    throw thrown[what]?.() as Error;
  },
});

/** Arguments that the compiler would not let through. */
const wrong = (value: unknown): never => value as never;
const LONG = 'x'.repeat(2_000);
const CENTURY_MS = 100 * 365 * 24 * 3_600_000;

const waits: Readonly<Record<string, (ctx: TaskContext) => unknown>> = {
  noStepName: (ctx) => ctx.step('', () => 1),
  ourStepName: (ctx) => ctx.step('$sleep/x', () => 1),
  longStepName: (ctx) => ctx.step(LONG, () => 1),
  noStep: (ctx) => ctx.step('pay', wrong(undefined)),
  stepNotJson: (ctx) => ctx.step('pay', () => new Map()),
  stepTooLarge: (ctx) => ctx.step('pay', () => 'x'.repeat(2 * MIB)),
  stepThrowsText: (ctx) =>
    ctx.step('pay', () => {
      throw wrong('no luck') as Error;
    }),
  sleepBefore: (ctx) => ctx.sleep('nap', -1),
  sleepNaN: (ctx) => ctx.sleep('nap', Number.NaN),
  sleepParsecs: (ctx) => ctx.sleep('nap', '10 parsecs'),
  sleepCentury: (ctx) => ctx.sleep('nap', CENTURY_MS),
  sleepUnnamed: (ctx) => ctx.sleep(wrong(500), wrong(undefined)),
  badTimeout: (ctx) => ctx.waitFor('go', { timeout: 'soon' }),
  badSignal: (ctx) => ctx.waitFor('go on!'),
  mapNoList: (ctx) => ctx.map('each', returns, wrong('abc')),
  mapNoTask: (ctx) => ctx.map('each', wrong(undefined), [1]),
  mapNotJson: (ctx) => ctx.map('each', returns, [wrong(1n)]),
  callNothing: (ctx) => ctx.call('it', wrong(undefined), 1),
};

export const waiting = defineTask({
  name: 'waits',
  retry: { maxAttempts: 1 },
  run: (what: string, ctx): unknown => waits[what]?.(ctx),
});

/** Calls itself for ever. */
export const deeper: Task<number, Json> = defineTask({
  name: 'deeper',
  run: (level: number, ctx): Promise<Json> => ctx.call('next', deeper, level + 1),
});

export const doubling = defineTask({
  name: 'doubling',
  input: z.object({ n: z.number() }),
  output: z.object({ doubled: z.number().max(100) }),
  run: ({ n }) => ({ doubled: n * 2 }),
});

export default defineFlow({
  name: 'doubled',
  input: z.object({ n: z.number() }),
  build: ({ input, task }) => task('double', doubling, { n: input.n }),
});
