import { CONCURRENCY } from '../documents.ts';
import type { Evidence } from './evidence.ts';
import type { LoggedLease } from './replay.ts';

interface Limited {
  readonly name: string;
  readonly max: number;
}

/** No limit was exceeded at any moment of the log: node slots, jobs, keys, placements per node. */
export function checkLimits(evidence: Evidence): void {
  const { replay, findings } = evidence;
  const changes: { seq: number; by: 1 | -1; limits: readonly Limited[] }[] = [];
  for (const lease of replay.leases) {
    const limits = limitsOf(evidence, lease);
    changes.push({ seq: lease.from, by: 1, limits });
    if (lease.to !== null) changes.push({ seq: lease.to, by: -1, limits });
  }
  changes.sort((a, b) => a.seq - b.seq || a.by - b.by);
  const held = new Map<string, number>();
  for (const { seq, by, limits } of changes) {
    for (const { name, max } of limits) {
      const count = (held.get(name) ?? 0) + by;
      held.set(name, count);
      if (by === 1 && count > max) {
        findings.add('limits', `${name} holds ${count} of ${max} (event ${seq})`);
      }
    }
  }
}

function limitsOf({ tables, slots }: Evidence, lease: LoggedLease): Limited[] {
  const limits: Limited[] = [];
  const job = tables.jobs.get(lease.jobNo);
  const spec = tables.specs.get(lease.key);
  const options = JSON.parse(spec?.options ?? '{}') as StoredOptions;
  limits.push({ name: `node ${lease.nodeId}`, max: slots.get(lease.nodeId) ?? 0 });
  if (job !== undefined && job.maxParallel !== null) {
    limits.push({ name: `job ${job.id}`, max: job.maxParallel });
  }
  const key = options.concurrency?.key;
  if (key !== undefined) limits.push({ name: `key ${key}`, max: CONCURRENCY[key] ?? 0 });
  const perNode = options.placement?.maxParallelPerNode;
  if (perNode !== undefined) {
    const placement = `${spec?.executor} ${JSON.stringify(options.placement)}`;
    limits.push({ name: `${placement} on ${lease.nodeId}`, max: perNode });
  }
  return limits;
}

interface StoredOptions {
  readonly concurrency?: { readonly key: string };
  readonly placement?: { readonly maxParallelPerNode?: number };
}
