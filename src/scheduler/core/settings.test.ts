import { describe, expect, test } from 'vitest';
import { checkedSettings, defaultSettings } from './index.ts';
import type { Settings } from './index.ts';

test('the defaults are right by their own rules', () => {
  expect(checkedSettings()).toEqual(defaultSettings);
});

test('what is given wins over the default', () => {
  expect(checkedSettings({ maxAttempts: 7 })).toEqual({ ...defaultSettings, maxAttempts: 7 });
});

describe('a wrong setting is refused by name', () => {
  test.each<[string, Partial<Settings>]>([
    ['maxAttempts', { maxAttempts: 0 }],
    ['backoffMs', { backoffMs: 1.5 }],
    ['quarantineMs', { quarantineMs: Number.NaN }],
    ['signalsPerJobMax', { signalsPerJobMax: 0 }],
    ['signalBytesMax', { signalBytesMax: -1 }],
    ['leaderRenewMs', { leaderRenewMs: 4_000 }],
    ['heartbeatMs', { heartbeatMs: 7_000 }],
    ['sessionTtlMs', { sessionTtlMs: 15_000 }],
    ['nodeDeadMs', { nodeDeadMs: 19_000 }],
    ['tasksPerJobMax', { tasksPerJobMax: 262_145 }],
  ])('%s', (name, given) => {
    expect(() => checkedSettings(given)).toThrow(`The setting ${name} is not valid`);
  });
});
