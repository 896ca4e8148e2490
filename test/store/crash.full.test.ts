import { expect, test } from 'vitest';
import { crashRounds } from './crash.ts';

test('a killed process loses nothing, many times over', async () => {
  expect.hasAssertions();
  await crashRounds(100, Date.now() % 1_000_000);
}, 1_800_000);
