import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Workload, operations } from '../../../test/rig/harness/workload.ts';

const HOURS_MS = 3_600_000;

test('twenty thousand random workloads end well', { timeout: HOURS_MS }, () => {
  fc.assert(
    fc.property(operations, (each) => {
      expect(Workload.run(each, () => {}).state.tasks.size).toBe(0);
    }),
    { numRuns: 20_000 },
  );
});

test('five thousand more do with a restart after every step', { timeout: HOURS_MS }, () => {
  fc.assert(
    fc.property(operations, (each) => {
      expect(Workload.run(each, (world) => world.restart()).state.tasks.size).toBe(0);
    }),
    { numRuns: 5_000 },
  );
});
