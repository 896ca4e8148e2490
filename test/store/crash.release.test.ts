import { expect, test } from 'vitest';
import { crashRounds } from './crash.ts';

test('a process that is killed again and again loses nothing whose storage was confirmed', async () => {
  expect.hasAssertions();
  await crashRounds(5, 20_261_116);
}, 120_000);
