/** Tasks that harm the process that they share with others. */
import { defineTask } from 'millrace';
import type { TaskContext } from 'millrace';

let isThere = (): void => {};
const neighbourIsThere = new Promise<void>((resolve) => {
  isThere = resolve;
});

/** In its first attempt it stays until its process is gone. */
export const neighbour = defineTask({
  name: 'neighbour',
  run: (_input: null, { attempt }): Promise<string> | string => {
    if (attempt > 1) return 'run again';
    isThere();
    return new Promise(() => {});
  },
});

/** Does it once there is somebody beside it, in its first attempt or in each. */
function harmful(name: string, harm: (ctx: TaskContext) => unknown) {
  return defineTask({
    name,
    run: async (when: 'first' | 'always', ctx): Promise<unknown> => {
      if (when === 'first' && ctx.attempt > 1) return 'behaved';
      if (when === 'first') await neighbourIsThere;
      return harm(ctx);
    },
  });
}

const never = (): Promise<never> => new Promise(() => {});

export const harms = [
  harmful('rejecting', () => {
    setImmediate(() => void Promise.reject(new Error('a stray promise')));
    return never();
  }),
  harmful('throwingLater', () => {
    setImmediate(() => {
      throw new Error('a stray callback');
    });
    return never();
  }),
  harmful('exiting', () => process.exit(0)),
  harmful('deaf', never),
  harmful('busy', () => {
    for (;;);
  }),
  harmful('eating', () => {
    const eaten: unknown[] = [];
    for (;;) eaten.push(Array.from({ length: 10_000 }, (_, at) => ({ at })));
  }),
];

/** It awaits them one after the other, and the second fails first. */
export const careless = defineTask({
  name: 'careless',
  run: async (_input: null, ctx): Promise<unknown> => {
    let fail = (_error: Error): void => {};
    const failing = new Promise((_, reject) => {
      fail = reject;
    });
    const first = ctx.step('first', () => failing);
    const second = ctx.step('second', () => Promise.reject(new Error('the second')));
    setImmediate(() => setImmediate(() => fail(new Error('the first'))));
    return [await first, await second];
  },
});
