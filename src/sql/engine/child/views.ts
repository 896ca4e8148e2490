/** Tables as views of an instance, for all who share it. */
import { quotedName } from '../../plan/index.ts';
import type { TableView } from '../messages.ts';
import type { Doing } from './fault.ts';
import type { PooledInstance } from './instances.ts';
import { type Connection, Work } from './work.ts';

/** To DuckDB a name is the same in any case. */
export function meaningsOf(views: readonly TableView[]): readonly (readonly [string, string])[] {
  return views.map(({ name, select }) => [
    `view ${name.toLowerCase()}`,
    JSON.stringify([name, select]),
  ]);
}

/** Those that are not there yet. Reads footers only. */
export async function createViews(
  { instance, once }: PooledInstance,
  views: readonly TableView[],
  doing: Doing,
): Promise<void> {
  const work = new Work();
  let connection: Connection | null = null;
  const create = async ({ name, select }: TableView): Promise<void> => {
    connection ??= await work.connect(instance, doing);
    await connection.run(`CREATE VIEW ${quotedName(name)} AS ${select}`);
  };
  try {
    // The name in the words of its first user: what it means is part of the choice of the instance.
    for (const view of views) await once(view.name, () => create(view));
  } finally {
    work.end();
  }
}
