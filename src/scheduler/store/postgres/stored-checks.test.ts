import { expect, test } from 'vitest';
import { running } from '../../../../test/rig/conformance/rows.ts';
import { batchOf, jobNo } from '../../core/index.ts';
import { checkStored } from './stored-checks.ts';

const batch = batchOf({
  ...{ commitNo: 1, lastSeq: 0, nextJobNo: jobNo(2), events: [] },
  taskUpdates: [running(1, 0)],
});

test('a connection that is lost while rows are looked up has changed nothing', async () => {
  const run = (): Promise<never> => Promise.reject(new Error('read ECONNRESET'));
  await expect(checkStored(run, 0, batch)).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a row that is in the way is named', async () => {
  const run = (): Promise<readonly object[]> => Promise.resolve([{ no: 1, bad: '1/0' }]);
  await expect(checkStored(run as never, 0, batch)).rejects.toMatchObject({
    ...{ code: 'bad_row', what: 'The store rejected a row of task 1/0: there is no such task.' },
  });
});
