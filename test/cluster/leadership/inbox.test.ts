/** From a user's own transaction to a worker, on a real server. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import type { JobId } from '../../../src/scheduler/core/index.ts';
import type { Leader } from '../../../src/scheduler/coordinator/index.ts';
import { deferred } from '../../../src/kit/index.ts';
import { ScriptedWorker } from '../../rig/lead.ts';
import { openTestStore } from '../../rig/millrace-database.ts';
import { candidateOn } from './candidate.ts';

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

const submit = async (sql: postgres.ISql, document: object): Promise<JobId> => {
  const [row] = await sql`select millrace.submit(${JSON.stringify(document)}::text::jsonb) as id`;
  return row?.['id'] as JobId;
};

const ECHO = { tasks: [{ id: 'a', executor: 'echo' }] };

async function leading() {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  const led = deferred<Leader>();
  const start = async (): Promise<Leader> => {
    const election = candidateOn(store, 'node', { onLead: led.resolve });
    onTestFinished(() => election.stop());
    return led.promise;
  };
  return { store, sql, start };
}

test('a job that was submitted before there was a leader reaches a worker', async () => {
  const { sql, start } = await leading();
  const id = await submit(sql, ECHO);
  const worker = await ScriptedWorker.join(await start(), 'w', ['echo']);
  expect(await worker.poll(1)).toMatchObject([{ jobId: id }]);
});

test('a job that is submitted with an order reaches a worker when the order is committed', async () => {
  const { store, sql, start } = await leading();
  const worker = await ScriptedWorker.join(await start(), 'w', ['echo']);
  await sql`create table orders (id int)`;
  const polled = worker.poll(1);
  const id = await sql.begin(async (tx) => {
    await tx`insert into orders values (7)`;
    return submit(tx, { ...ECHO, idempotencyKey: 'order-7' });
  });
  const [assignment] = await polled;
  expect(assignment).toMatchObject({ jobId: id });
  expect(await store.inbox(0, 9)).toEqual([]);
  // Asked again, it is the same job, and nothing new comes in.
  expect(await submit(sql, { ...ECHO, idempotencyKey: 'order-7' })).toBe(id);
  expect(await store.inbox(0, 9)).toEqual([]);
});

test('a document that is not valid becomes a failed job that says why', async () => {
  const { store, sql, start } = await leading();
  const bad = await submit(sql, { tasks: 'none' });
  const good = await submit(sql, ECHO);
  const worker = await ScriptedWorker.join(await start(), 'w', ['echo']);
  // Both rows are of one portion, and the second one is there to be waited for.
  expect(await worker.poll(1)).toMatchObject([{ jobId: good }]);
  const leader = worker.leader;
  await leader.jobs.drainInbox();
  expect(await store.jobRow(0, bad)).toMatchObject({
    state: 'failed',
    error: { code: 'bad_input' },
  });
});
