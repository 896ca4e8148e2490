import { expect, test } from 'vitest';
import { machineName } from './machine-name.ts';

test('names the machine, and differs each time', () => {
  expect(machineName('node', 'db-1.example')).toMatch(/^db-1\.example-[0-9a-f]{8}$/);
  expect(machineName('node', 'a')).not.toBe(machineName('node', 'a'));
});

test('replaces what an id may not contain', () => {
  expect(machineName('node', "Ann's Mac")).toMatch(/^Ann-s-Mac-[0-9a-f]{8}$/);
  expect(machineName('node', '..é')).toMatch(/^node-[0-9a-f]{8}$/);
  expect(machineName('node', 'x'.repeat(200))).toMatch(/^x{60}-[0-9a-f]{8}$/);
});
