import { expect, test } from 'vitest';
import { running } from '../../../../test/rig/conformance/rows.ts';
import { batchOf, jobNo } from '../../core/index.ts';
import { offenceIn, storedChecks } from './stored-checks.ts';

const none = batchOf({ commitNo: 1, lastSeq: 0, nextJobNo: jobNo(2), events: [] });

test('nothing is asked about a batch of which the tables know nothing', () => {
  expect(storedChecks(none, 14)).toBeNull();
});

test('parameters are numbered from the first that is free', () => {
  const checks = storedChecks({ ...none, taskUpdates: [running(1, 0)] }, 14);
  expect(checks?.parameters).toHaveLength(2);
  expect(checks?.select).toContain('$14');
  expect(checks?.select).toContain('$15');
  expect(checks?.select).not.toContain('$16');
});

test('a row that is in the way is named', () => {
  expect(offenceIn({ offence: 1, bad: '1/0' })).toMatchObject({
    ...{ code: 'bad_row', what: 'The store rejected a row of task 1/0: there is no such task.' },
  });
  expect(offenceIn({ offence: null, bad: null, at: 0 })).toBeNull();
});
