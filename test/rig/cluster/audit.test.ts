import { expect, test } from 'vitest';
import { instant } from '../../../src/scheduler/core/index.ts';
import type { EventRow, JobId } from '../../../src/scheduler/core/index.ts';
import { openMemoryStore } from '../../../src/scheduler/store/index.ts';
import type { Dumped, Store } from '../../../src/scheduler/store/index.ts';
import { lead, memoryStore, ScriptedWorker } from '../lead.ts';
import { intercepted } from '../../sim/journal.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { audit, expectCleanAudit } from './audit.ts';

type Rows = readonly Dumped[];

/** Two jobs that have run: one task of them lost its node first, one result is signed. */
async function atRest(): Promise<{ store: Store; rows: Rows }> {
  const clock = new VirtualClock();
  const store = memoryStore(clock);
  const { leader } = await lead(store, clock);
  const lost = await ScriptedWorker.join(leader, 'w1', ['echo']);
  const task = { id: 'a', executor: 'echo' };
  await leader.jobs.submit({ tasks: [task], idempotencyKey: 'k1' }, { jobId: 'j1' as JobId });
  await leader.jobs.submit({ tasks: [task] }, { jobId: 'j2' as JobId });
  await lost.poll(1);
  await clock.advance(25_000);
  const worker = await ScriptedWorker.join(leader, 'w2', ['echo']);
  for (const { lease } of await worker.poll(2)) {
    const { jobNo, taskNo, fence } = lease;
    const attempt = (await store.taskRows(0, [{ jobNo, taskNo }])).get(
      `${jobNo}/${taskNo}`,
    )?.attempt;
    await worker.complete(lease, { signed: { attempt, fence } });
  }
  const rows: Dumped[] = [];
  for await (const row of store.dump()) rows.push(row);
  return { store, rows };
}

/** A store that holds these rows: a real one would refuse much of what is wrong here. */
function storeOf(rows: Rows): Store {
  return intercepted(openMemoryStore({ now: () => instant(1_000_000_000_000) }), {
    dump: async function* () {
      yield* rows;
    },
  });
}

const rulesOf = async (rows: Rows, acknowledged: readonly string[] = []): Promise<string[]> => {
  const findings = await audit(storeOf(rows), acknowledged);
  return [...new Set(findings.map(({ rule }) => rule))];
};

type RowOf<T extends Dumped['table']> = Extract<Dumped, { readonly table: T }>['row'];

/** Changes the rows of one table; null takes a row away. */
function changed<T extends Dumped['table']>(
  rows: Rows,
  table: T,
  change: (row: RowOf<T>) => object | null,
): Rows {
  return rows.flatMap((each) => {
    if (each.table !== table) return [each];
    const row = change(each.row as RowOf<T>);
    return row === null ? [] : [{ table, row } as unknown as Dumped];
  });
}

test('a cluster that lost a node and came to rest is clean', async () => {
  const { store, rows } = await atRest();
  const kinds = rows.flatMap((each) => (each.table === 'event' ? [each.row.kind] : []));
  expect(kinds).toContain('reassigned');
  await expectCleanAudit(store, ['j1', 'j2']);
  await expectCleanAudit(storeOf(rows), ['j1', 'j2']);
});

test('an acknowledged job that is not there is found', async () => {
  const { rows } = await atRest();
  expect(await rulesOf(rows, ['j1', 'j3'])).toEqual(['promises']);
});

test('a hole in the log is found', async () => {
  const { rows } = await atRest();
  const holed = changed(rows, 'event', (row) =>
    row.kind === 'started' || row.seq === 5 ? null : row,
  );
  expect(await rulesOf(holed)).toContain('log');
});

test('a task that is still running, and nobody runs it, is found', async () => {
  const { rows } = await atRest();
  const stuck = changed(rows, 'task', (row) =>
    row.jobNo === 1 ? { ...row, state: 'running', sessionId: 'gone', finishedAt: null } : row,
  );
  expect(await rulesOf(stuck)).toEqual(expect.arrayContaining(['one end', 'sessions']));
});

test('a result of a lease that is over is found, however it shows', async () => {
  const { rows } = await atRest();
  const isWinner = (row: EventRow): boolean => row.kind === 'completed' && row.jobNo === 1;
  const zombie = changed(rows, 'event', (row) =>
    isWinner(row) ? { ...row, fence: (row.fence ?? 0) - 1 } : row,
  );
  expect(await rulesOf(zombie)).toContain('results');
  const foreign = changed(rows, 'result', (row) => ({
    ...row,
    body: '{"signed":{"attempt":9,"fence":9}}',
  }));
  expect(await rulesOf(foreign)).toEqual(['results']);
});

test('a run that ended twice is found', async () => {
  const { rows } = await atRest();
  const twice = changed(rows, 'event', (row) =>
    row.kind === 'job.succeeded' ? { ...row, kind: 'completed', taskNo: 0 } : row,
  );
  expect(await rulesOf(twice)).toEqual(expect.arrayContaining(['one end', 'results']));
});

test('two jobs of one idempotency key are found', async () => {
  const { rows } = await atRest();
  const doubled = changed(rows, 'job', (row) => ({ ...row, idempotencyKey: 'k1' }));
  expect(await rulesOf(doubled)).toEqual(['idempotency']);
});

test('a document that nobody took out of the inbox is found', async () => {
  const { rows } = await atRest();
  const row = { no: 1, jobId: 'j9' as JobId, document: '{}' };
  expect(await rulesOf([...rows, { table: 'inbox', row }])).toEqual(['inbox']);
});

test('a leader with an epoch that was there before is found', async () => {
  const { rows } = await atRest();
  const again = changed(rows, 'event', (row) =>
    row.kind === 'node.registered'
      ? { ...row, kind: 'leader.elected', nodeId: null, detail: '{"epoch":1,"nodeId":"x"}' }
      : row,
  );
  expect(await rulesOf(again)).toEqual(['terms']);
});
