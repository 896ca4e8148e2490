import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { wallTime } from './wall-time.ts';

test('wall-clock times are shifted by the offset', () => {
  vi.useFakeTimers({ now: 0 });
  try {
    expect(wallTime(0)).toBe('1970-01-01T00:00:00.000Z');
    expect(wallTime(600_000)).toBe('1970-01-01T00:10:00.000Z');
  } finally {
    vi.useRealTimers();
  }
});

test('nothing else in a worker or an executor looks at the wall clock', () => {
  const rooms = [import.meta.dirname, join(import.meta.dirname, '../../tasks/executors')];
  const looking = rooms.flatMap((room) =>
    readdirSync(room)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) =>
        /\bDate(\.now)?\(\)|timeOrigin/.test(readFileSync(join(room, name), 'utf8')),
      ),
  );
  // A handler that names the time of its next attempt (`RetryAfterError`) means that of the wall clock.
  expect(looking).toEqual(['wall-time.ts', 'failure.ts']);
});
