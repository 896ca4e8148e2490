import { keyScope } from '../core/index.ts';
import type { Submit, TaskDocument, TaskRef } from '../core/index.ts';
import type { Store } from '../store/index.ts';

/** What the store knows of execution keys; the memory knows only those of live jobs. */
export type KnownKeys = Pick<Submit, 'completedKeys' | 'pendingKeys'>;

export function keyScopes(tasks: readonly TaskDocument[]): string[] {
  const scopes: string[] = [];
  for (const { executor, idempotencyKey } of tasks) {
    if (idempotencyKey !== null) scopes.push(keyScope(executor, idempotencyKey));
  }
  return scopes;
}

export async function knownKeys(
  { store, shard }: { readonly store: Store; readonly shard: number },
  scopes: readonly string[],
): Promise<KnownKeys> {
  const completedKeys = new Set<string>();
  const pendingKeys = new Map<string, TaskRef>();
  for (const { scope, state, jobNo, taskNo } of await store.keys(shard, scopes)) {
    if (state === 'completed') completedKeys.add(scope);
    else pendingKeys.set(scope, { jobNo, taskNo });
  }
  return { completedKeys, pendingKeys };
}
