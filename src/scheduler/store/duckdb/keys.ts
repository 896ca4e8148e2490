/**
 * Execution records of idempotency keys. A write gives the key a new row at the end, under a new
 * number, and removes the old one by its number: so neither has to search all keys.
 */
import type { Batch, KeyRow, ResultRow } from '../../core/index.ts';
import { nameHash } from './hash-index.ts';
import { insertRows, selectRows } from './rows.ts';
import { type Session } from './session.ts';
import type { Shards } from './shards.ts';
import { KEY, type NumberedKey } from './tables.ts';

/** For the index, once the transaction is committed. */
export interface KeyChanges {
  readonly added: readonly NumberedKey[];
  /** Hash and number of the rows that went. */
  readonly removed: readonly (readonly [number, number])[];
}

export async function putKeys(
  session: Session,
  shards: Shards,
  shard: number,
  { keyUpserts, keyDeletes }: Batch,
): Promise<KeyChanges> {
  const deleted = new Set(keyDeletes);
  const last = new Map(keyUpserts.map((key) => [key.scope, key]));
  const removed = await removeKeys(session, shards, shard, [...last.keys(), ...deleted]);
  const kept = [...last.values()].filter((key) => !deleted.has(key.scope));
  const added = kept.map((key, at) => ({ ...key, no: shards.nextKeyNo + at }));
  await insertRows(session, KEY, shard, added);
  return { added, removed };
}

async function removeKeys(
  session: Session,
  shards: Shards,
  shard: number,
  scopes: readonly string[],
): Promise<[number, number][]> {
  const candidates = candidatesOf(shards, scopes);
  if (candidates.length === 0) return [];
  const gone = await session.rows(
    `delete from idempotency t
      where t.shard = $1::integer and t.no in (select unnest($2::bigint[]))
        and t.scope in (select unnest($3::varchar[]))
      returning t.scope_hash, t.no`,
    shard,
    candidates,
    scopes,
  );
  return gone as [number, number][];
}

const candidatesOf = (shards: Shards, scopes: readonly string[]): number[] =>
  scopes.flatMap((scope) => shards.keys.find(nameHash(scope)));

export async function selectKeys(
  session: Session,
  shards: Shards,
  shard: number,
  scopes: readonly string[],
): Promise<KeyRow[]> {
  const wanted = new Set(scopes);
  const candidates = candidatesOf(shards, [...wanted]);
  if (candidates.length === 0) return [];
  const rows: KeyRow[] = await selectRows(
    session,
    KEY,
    `where t.shard = $1::integer and t.no in (select unnest($2::bigint[]))`,
    shard,
    candidates,
  );
  return rows.filter((key) => wanted.has(key.scope));
}

/** The results of tasks whose key was completed elsewhere, in this batch or long ago. */
export async function copiedResults(
  session: Session,
  shards: Shards,
  shard: number,
  { copiedResults: copies, keyUpserts, keyDeletes }: Batch,
): Promise<ResultRow[]> {
  if (copies.length === 0) return [];
  const scopes = copies.map((copy) => copy.scope);
  const keys = new Map<string, KeyRow>();
  const known = await selectKeys(session, shards, shard, scopes);
  for (const key of [...known, ...keyUpserts]) keys.set(key.scope, key);
  for (const scope of keyDeletes) keys.delete(scope);
  return copies.flatMap(({ jobNo, taskNo, run, scope }) => {
    const key = keys.get(scope);
    const body = key?.result ?? null;
    return body === null ? [] : [{ jobNo, taskNo, run, body }];
  });
}
