import { expect, test } from 'vitest';
import { VirtualClock } from '../../../kit/index.ts';
import { Gathering } from './gathering.ts';

test('those who ask within the time go on together, and the next one begins anew', async () => {
  const clock = new VirtualClock();
  const gathering = new Gathering(clock, 20);
  const seen: string[] = [];
  const ask = (name: string): void => {
    void gathering.turn().then(() => seen.push(name));
  };
  ask('first');
  await clock.advance(19);
  ask('second');
  expect(seen).toEqual([]);
  await clock.advance(1);
  expect(seen).toEqual(['first', 'second']);
  ask('third');
  await clock.advance(19);
  expect(seen).toHaveLength(2);
  await clock.advance(1);
  expect(seen).toEqual(['first', 'second', 'third']);
});
