import type postgres from 'postgres';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

export const document = (more: object = {}): postgres.JSONValue => ({
  tasks: [{ id: 'a', executor: 'note' }],
  ...more,
});

export async function submit(sql: postgres.ISql, given: postgres.JSONValue): Promise<string> {
  const text = JSON.stringify(given);
  const [row] = await sql`select millrace.submit(${text}::text::jsonb) as id`;
  return String(row?.['id']);
}

/** Jobs of this id in any state, and what waits for the leader. */
export async function counts({ sql }: TestCluster): Promise<unknown> {
  const [row] = await sql`
    select (select count(*) from millrace.job)::int as jobs,
           (select count(*) from millrace.inbox)::int as inbox`;
  return row;
}
