/** The custom operators that workers have declared. */
import type { OperatorRow } from '../../core/index.ts';
import type { OperatorChange, Term } from '../store.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { LeaderConnection } from './leader-connection.ts';
import * as rows from './rows.ts';

export async function operatorsOf(run: Run, shard: number): Promise<readonly OperatorRow[]> {
  const found = await run(
    `select ${rows.operators.read('o')} from millrace.operator o where o.shard = $1 order by o.id`,
    [shard],
  );
  return found.map((row) => rows.operators.decode(row));
}

export async function changeOperators(
  write: LeaderConnection['run'],
  term: Term,
  { put, removed }: OperatorChange,
): Promise<void> {
  const { shard, epoch, id } = term;
  await write(
    'select millrace.change_operators($1, $2, $3, $4, $5, $6)',
    [shard, epoch, id, ...rows.operators.encode(put), ...rows.ids.encode(removed)],
    { timeoutMultiplier: 1, term },
  ).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
}
