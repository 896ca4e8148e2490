/** `millrace dev`: workers that follow the code, and a whole cluster on one machine. */
import { expect, test } from 'vitest';
import { startDev } from './dev-setup.ts';

test('dev runs new code once it is saved, and keeps the old worker while the new code is broken', async () => {
  const { dev, answer, save, printed } = await startDev('single');
  expect(await answer()).toBe('one');
  save(`export const word: string = 'two';`);
  await printed(/part\.ts changed: starting a new worker/);
  await printed(/^millrace reloaded in/);
  expect(await answer()).toBe('two');
  save('export const word: string = ;');
  await printed(/^millrace did not reload/);
  expect(dev.output.text()).toMatch(/tasks\.ts cannot be loaded/);
  expect(await answer()).toBe('two');
  expect(await dev.stop()).toEqual({ code: 0, signal: null });
});
