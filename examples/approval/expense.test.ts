/** Five days of waiting, tested in milliseconds: the runtime of `millrace/testing` has a clock of its own. */
import { createTestRuntime } from 'millrace/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { expense } from './expense.ts';
import { services } from './services.ts';

const claim = { id: 'E-1', who: 'Bob', cents: 12_050, approver: 'Ada', deputy: 'Eve' };

beforeEach(() => {
  vi.spyOn(services, 'mail').mockReturnValue();
  vi.spyOn(services, 'transfer').mockReturnValue('T-1');
});
afterEach(() => {
  vi.restoreAllMocks();
});

const mailed = (): string[] => vi.mocked(services.mail).mock.calls.map(([to]) => to);

test('an expense that is approved is paid', async () => {
  const runtime = await createTestRuntime();
  const job = await runtime.submit(expense, claim);
  await runtime.advance('2d');
  await job.signal('decision', { approved: true, by: 'Ada' });
  expect(await job.result()).toEqual({ approved: true, by: 'Ada', transfer: 'T-1' });
  expect(mailed()).toEqual(['Ada']);
  expect(services.transfer).toHaveBeenCalledTimes(1);
});

test('an expense that is rejected is not paid, and its owner hears why', async () => {
  const runtime = await createTestRuntime();
  const job = await runtime.submit(expense, claim);
  await job.signal('decision', { approved: false, by: 'Ada', note: 'no receipt' });
  expect(await job.result()).toEqual({ approved: false, by: 'Ada', transfer: null });
  expect(services.mail).toHaveBeenLastCalledWith('Bob', 'E-1 was rejected by Ada: no receipt');
  expect(services.transfer).not.toHaveBeenCalled();
});

test('after three days the deputy is asked, whose word counts', async () => {
  const runtime = await createTestRuntime();
  const job = await runtime.submit(expense, claim);
  await runtime.advance('2d');
  expect(mailed()).toEqual(['Ada']);
  await runtime.advance('25h');
  expect(mailed()).toEqual(['Ada', 'Eve']);
  await job.signal('decision', { approved: true, by: 'Eve' });
  expect(await job.result()).toMatchObject({ approved: true, by: 'Eve' });
});

test('without any decision it ends after five days', async () => {
  const runtime = await createTestRuntime({ startAt: '2030-01-01T00:00:00Z' });
  const job = await runtime.submit(expense, claim);
  expect(await job.result()).toMatchObject({ approved: false, by: 'nobody', transfer: null });
  expect(runtime.now().toISOString()).toContain('2030-01-06T00:00');
  expect(mailed()).toEqual(['Ada', 'Eve', 'Bob']);
});

test('whenever a worker dies, nobody is asked twice and nothing is paid twice', async () => {
  const runtime = await createTestRuntime();
  runtime.crash({ task: 'decide', step: 'ask the approver', at: 'after' });
  runtime.crash({ task: 'pay', step: 'transfer', at: 'after' });
  const job = await runtime.submit(expense, claim);
  await job.signal('decision', { approved: true, by: 'Ada' });
  expect(await job.result()).toMatchObject({ approved: true, transfer: 'T-1' });
  expect(runtime.crashesLeft).toEqual([]);
  expect(mailed()).toEqual(['Ada']);
  expect(services.transfer).toHaveBeenCalledTimes(1);
});
