import { expect, test } from 'vitest';
import { MillraceError } from '../../scheduler/core/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { StoreWatch } from './store-watch.ts';

const away = new MillraceError({ code: 'store_unavailable', what: 'It is away.' });

test('reports once when the database is unreachable, and once when it is back', async () => {
  const clock = new VirtualClock();
  const changes: (string | null)[] = [];
  let answer: () => Promise<unknown> = () => Promise.resolve();
  const watch = new StoreWatch({
    clock,
    ask: () => answer(),
    onChange: (trouble) => changes.push(trouble?.what ?? null),
  });
  watch.start();
  await clock.advance(5_000);
  expect(changes).toEqual([]);
  answer = () => Promise.reject(away);
  await clock.advance(5_000);
  expect(changes).toEqual(['It is away.']);
  answer = () => Promise.resolve();
  await clock.advance(5_000);
  expect(changes).toEqual(['It is away.', null]);
  watch.stop();
});

test('an unresponsive database counts as unreachable, and nothing is reported after the stop', async () => {
  const clock = new VirtualClock();
  const changes: (string | null)[] = [];
  const watch = new StoreWatch({
    clock,
    ask: () => new Promise(() => {}),
    onChange: (trouble) => changes.push(trouble?.what ?? null),
  });
  watch.start();
  await clock.advance(2_999);
  expect(changes).toEqual([]);
  await clock.advance(1);
  watch.stop();
  await clock.advance(60_000);
  expect(changes).toEqual(['The database did not answer within 3000 ms.']);
});
