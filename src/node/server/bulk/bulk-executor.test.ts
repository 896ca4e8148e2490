import { expect, test } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId } from '../../../scheduler/core/index.ts';
import { cursorOf, readBulkRequest, readCursor } from '../../../scheduler/contract/index.ts';
import type { JobSummary } from '../../../scheduler/contract/index.ts';
import type { TaskContext } from '../../../tasks/executors/index.ts';
import { bulkExecutor } from './bulk-executor.ts';
import type { BulkParts } from './bulk-executor.ts';

const PAGE = 200;

/** Jobs 1 to `count`, newest first, and the bulk job behind them. */
function world(count: number) {
  const acted: string[] = [];
  const faults = new Map<string, MillraceError>();
  const jobs = Array.from({ length: count }, (_, at) => count - at).map(
    (no) => ({ id: `j${no}`, no, run: 1, state: 'failed' }) as unknown as JobSummary,
  );
  const parts = {
    reader: {
      job: () => Promise.resolve({ value: { no: count + 1 } }),
      jobs: ({ cursor }: { cursor: string }) => {
        const [before = 0] = readCursor('jobs', 1, cursor);
        const items = jobs.filter(({ no }) => no < before).slice(0, PAGE);
        const last = items.at(-1)?.no ?? 1;
        return Promise.resolve({
          value: { items, cursor: last > 1 ? cursorOf('jobs', [last]) : null },
        });
      },
    },
    jobs: () => ({
      rerun: (id: string, run: number) => {
        const fault = faults.get(id);
        faults.delete(id);
        if (fault !== undefined) return Promise.reject(fault);
        acted.push(`${id}/${run}`);
        return Promise.resolve({ changed: true });
      },
    }),
  } as unknown as BulkParts;
  const steps = new Map<string, unknown>();
  const context = {
    jobId: 'bulk-1' as JobId,
    signal: new AbortController().signal,
    step: async (name: string, fn: () => Promise<unknown>) => {
      if (!steps.has(name)) steps.set(name, await fn());
      return steps.get(name);
    },
  } as unknown as TaskContext;
  const run = () =>
    bulkExecutor(parts).run({ action: 'rerun', filter: { state: 'failed' } }, context);
  return { acted, faults, run };
}

test('every job of every page is acted on, with the run that was seen', async () => {
  const { acted, run } = world(450);
  expect(await run()).toMatchObject({ found: 450, changed: 450, failed: 0 });
  expect([acted.length, acted.at(-1)]).toEqual([450, 'j1/1']);
});

test('an attempt after a fault of the store does not repeat finished pages', async () => {
  const { acted, faults, run } = world(450);
  faults.set('j100', new MillraceError({ code: 'store_unavailable', what: 'away' }));
  await expect(run()).rejects.toMatchObject({ code: 'store_unavailable' });
  const before = acted.length;
  expect(await run()).toMatchObject({ found: 450, changed: 450 });
  expect(acted.filter((each) => each === 'j400/1')).toHaveLength(1);
  expect(acted.length).toBeLessThanOrEqual(before + 250);
});

test.each(['conflict', 'expired', 'not_found'] as const)(
  'a job that has changed meanwhile (%s) counts as unchanged',
  async (code) => {
    const { faults, run } = world(3);
    faults.set('j2', new MillraceError({ code, what: 'The job has succeeded.' }));
    expect(await run()).toMatchObject({ found: 3, changed: 2, unchanged: 1, errors: [] });
  },
);

test('what has ended is not sent a signal, and a repeated page sends the same one', async () => {
  const sent: string[] = [];
  const states = ['running', 'succeeded', 'queued'];
  const items = states.map((state, at) => ({ id: `j${at}`, no: 9 - at, run: 1, state }));
  const parts = {
    reader: {
      job: () => Promise.resolve({ value: { no: 10 } }),
      jobs: () => Promise.resolve({ value: { items, cursor: null } }),
    },
    jobs: () => ({
      signal: (id: string, name: string, body: string, signalId: string) => {
        sent.push([id, name, body, signalId].join(' '));
        return Promise.resolve({ changed: id === 'j0' });
      },
    }),
  } as unknown as BulkParts;
  const context = {
    jobId: 'bulk-1' as JobId,
    signal: new AbortController().signal,
    step: (_name: string, fn: () => Promise<unknown>) => fn(),
  } as unknown as TaskContext;
  const input = { action: 'signal', signal: 'go', value: { a: 1 }, filter: { name: 'n' } };
  const outcome = await bulkExecutor(parts).run(input, context);
  expect(outcome).toMatchObject({ found: 3, changed: 1, unchanged: 2 });
  expect(sent).toEqual(['j0 go {"a":1} bulk-1', 'j2 go {"a":1} bulk-1']);
});

test('a request that was read is read again as it was', () => {
  for (const request of [
    { action: 'signal', signal: 'go', value: null, filter: { waitingFor: '*' } },
    { action: 'priority', priority: 0, filter: { since: 5, until: 6 } },
    { action: 'reschedule', runAt: 'now', filter: { name: 'n' } },
    { action: 'remove', filter: { labels: ['a:b'] } },
    { action: 'cancel', filter: { schedule: 's', startedBy: 'event/tick/e 1' } },
  ])
    expect(readBulkRequest(readBulkRequest(request))).toEqual(request);
  expect(
    readBulkRequest({ action: 'cancel', filter: { since: '1970-01-01T00:00:01Z' } }),
  ).toMatchObject({ filter: { since: 1_000 } });
});

test.each([
  [null, ''],
  [{ action: 'signal', filter: { name: 'x' } }, '/signal'],
  [{ action: 'signal', signal: 'a b', filter: { name: 'x' } }, '/signal'],
  [{ action: 'priority', priority: 4, filter: { name: 'x' } }, '/priority'],
  [{ action: 'reschedule', filter: { name: 'x' } }, '/runAt'],
  [{ action: 'cancel', priority: 1, filter: { name: 'x' } }, '/priority'],
  [{ action: 'drop', filter: { name: 'x' } }, '/action'],
  [{ action: 'cancel' }, '/filter'],
  [{ action: 'cancel', filter: {} }, '/filter'],
  [{ action: 'cancel', filter: { state: 'gone' } }, '/filter/state'],
  [{ action: 'cancel', filter: { name: 7 } }, '/filter/name'],
  [{ action: 'cancel', filter: { name: 'a\0b' } }, '/filter/name'],
  [{ action: 'cancel', filter: { name: 'a\ud800' } }, '/filter/name'],
  [{ action: 'cancel', filter: { labels: ['a'] } }, '/filter/labels/0'],
  [{ action: 'cancel', filter: { all: true } }, '/filter/all'],
  [{ action: 'cancel', filter: { since: '2h' } }, '/filter/since'],
  [{ action: 'cancel', filter: { until: -1 } }, '/filter/until'],
  [{ action: 'cancel', filter: { waitingFor: 'a b' } }, '/filter/waitingFor'],
  [{ action: 'cancel', filter: { schedule: 7 } }, '/filter/schedule'],
  [{ action: 'cancel', filter: { startedBy: { event: 'a' } } }, '/filter/startedBy'],
  [{ action: 'cancel', filter: { startedBy: 'tick' } }, '/filter/startedBy'],
])('%j is refused at %s', (request, path) => {
  expect(() => readBulkRequest(request)).toThrow(
    expect.objectContaining({ code: 'bad_input', path }),
  );
});
