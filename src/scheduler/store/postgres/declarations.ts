/** What workers have declared: custom operators and flows. */
import type { DeclarationKind, DeclarationRow } from '../../core/index.ts';
import type { DeclarationChange, Term } from '../store.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { LeaderConnection } from './leader-connection.ts';
import * as rows from './rows.ts';

export async function declarationsOf(
  run: Run,
  shard: number,
  kind: DeclarationKind,
): Promise<readonly DeclarationRow[]> {
  const found = await run(
    `select ${rows.declarations.read('d')} from millrace.${kind} d where d.shard = $1 order by d.id`,
    [shard],
  );
  return found.map((row) => rows.declarations.decode(row));
}

export async function changeDeclarations(
  write: LeaderConnection['run'],
  term: Term,
  kind: DeclarationKind,
  { put, removed }: DeclarationChange,
): Promise<void> {
  const { shard, epoch, id } = term;
  await write(
    `select millrace.change_${kind}s($1, $2, $3, $4, $5, $6)`,
    [shard, epoch, id, ...rows.declarations.encode(put), ...rows.ids.encode(removed)],
    { timeoutMultiplier: 1, term },
  ).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
}
