import { expect, test } from 'vitest';
import { crashRounds } from './crash.ts';

test('a killed process loses nothing whose storage was confirmed', async () => {
  expect.hasAssertions();
  await crashRounds(2, 20_261_115);
}, 120_000);
