import { keyScope } from '../../../src/scheduler/core/index.ts';
import type { StoredEvidence } from './evidence.ts';

/** Under one execution key one task executes at a time, and no more after one has succeeded. */
export function checkExecutionKeys({ tables, replay, findings }: StoredEvidence): void {
  const scopeOf = (key: string): string | null => {
    const spec = tables.specs.get(key);
    if (spec === undefined || spec.idempotencyKey === null) return null;
    // What ran in a batch may run again by itself: see `batches.ts`.
    if (spec.idempotencyKey.startsWith('$batch/')) return null;
    return keyScope(spec.executor, spec.idempotencyKey);
  };
  const byScope = new Map<string, { from: number; to: number; key: string }[]>();
  for (const { key, from, to } of replay.leases) {
    const scope = scopeOf(key);
    if (scope === null) continue;
    byScope.set(scope, [...(byScope.get(scope) ?? []), { from, to: to ?? Infinity, key }]);
  }
  for (const [scope, leases] of byScope) {
    leases.sort((a, b) => a.from - b.from);
    leases.forEach((lease, at) => {
      const next = leases[at + 1];
      if (next !== undefined && next.from < lease.to) {
        findings.add('execution keys', `${next.key} runs under ${scope} while ${lease.key} does`);
      }
    });
  }
  const successes = new Map<string, string>();
  for (const { key, state, event } of replay.ends) {
    const scope = state === 'succeeded' ? scopeOf(key) : null;
    if (scope === null || event.detail !== null) continue;
    const before = successes.get(scope);
    if (before !== undefined) {
      findings.add('execution keys', `${before} and ${key} both succeeded under ${scope}`);
    }
    successes.set(scope, key);
  }
}

/** At rest no key is pending: its owner has ended. */
export function checkKeysAtRest({ tables, findings }: StoredEvidence): void {
  for (const { scope, state, jobNo, taskNo } of tables.keys) {
    if (state === 'pending') {
      findings.add('execution keys', `${scope} is still owned by ${jobNo}/${taskNo}`);
    }
  }
}
