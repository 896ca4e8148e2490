/** A runtime whose jobs are in PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freshDatabase } from '../../../test/rig/postgres.ts';
import { defineTask } from '../../tasks/flow/index.ts';
import { createRuntime } from './runtime.ts';
import type { RuntimeOptions } from './runtime.ts';

vi.setConfig({ testTimeout: 60_000 });

const QUICK = {
  ...{ leaderTtlMs: 1_500, leaderRenewMs: 500, heartbeatMs: 500, sessionTtlMs: 3_000 },
  nodeDeadMs: 6_000,
};
const double = defineTask({ name: 'double', run: (n: number) => n * 2 });

async function place(): Promise<RuntimeOptions & { readonly database: string }> {
  const database = await freshDatabase();
  const data = mkdtempSync(join(tmpdir(), 'millrace-runtime-'));
  onTestFinished(async () => {
    rmSync(data, { recursive: true, force: true });
    await database.drop();
  });
  return { database: database.url, data, settings: QUICK };
}

test('keeps its jobs in the database, and finds them after a restart', async () => {
  const options = await place();
  const first = await createRuntime(options);
  const job = await first.submit(double, 21);
  expect(await first.result(job)).toBe(42);
  const rows = [];
  for await (const row of first.sql('select 7 as n')) rows.push(row);
  expect(rows).toEqual([{ n: 7 }]);
  await first.close();
  const second = await createRuntime(options);
  expect(await second.job(job.id)).toMatchObject({ state: 'succeeded', tasks: [{ result: 42 }] });
  expect(await second.nodes({ executor: 'sql.fragment' })).toHaveLength(1);
  expect(await second.task(job.id, (await second.job(job.id)).tasks[0]?.id ?? '')).toMatchObject({
    ...{ input: 21, lease: null, placement: null },
  });
  await second.close();
});

test('a second runtime on the same database is refused', async () => {
  const options = await place();
  const first = await createRuntime(options);
  const again = createRuntime({ ...options, data: `${options.data}/other` });
  await expect(again).rejects.toMatchObject({
    code: 'store_locked',
    what: expect.stringContaining('The database is already in use by node embedded') as string,
  });
  expect(await first.result(await first.submit(double, 1))).toBe(2);
  await first.close();
});

test('a database beside another store, and one that is not there, are refused', async () => {
  const database = 'postgres://127.0.0.1:1/none';
  await expect(createRuntime({ database, store: 'memory' })).rejects.toMatchObject({
    code: 'bad_setting',
  });
  await expect(createRuntime({ database })).rejects.toMatchObject({ code: 'store_unavailable' });
});
