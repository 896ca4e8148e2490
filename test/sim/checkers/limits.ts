import { CONCURRENCY, type Limited as DraftLimit } from '../documents.ts';
import type { Evidence } from './evidence.ts';
import type { LoggedLease } from './replay.ts';

interface Limited {
  readonly name: string;
  readonly max: number;
}

/** No limit was exceeded at any moment of the log: node slots, jobs, keys, placements per node, starts per period. */
export function checkLimits(evidence: Evidence): void {
  const { replay, findings } = evidence;
  const changes: { seq: number; by: 1 | -1; limits: readonly Limited[] }[] = [];
  for (const lease of replay.leases) {
    const limits = limitsOf(evidence, lease);
    changes.push({ seq: lease.from, by: 1, limits });
    if (lease.to !== null) changes.push({ seq: lease.to, by: -1, limits });
  }
  checkRates(evidence);
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

/** In no period, however it is laid over the log, were more started than the limit allows. */
function checkRates({ tables, replay, findings, driftMs }: Evidence): void {
  const starts = new Map<string, { readonly limit: DraftLimit; readonly leases: LoggedLease[] }>();
  for (const lease of replay.leases) {
    if (lease.isResumed || lease.isDuplicate) continue;
    const { limits = [] } = optionsOf(tables, lease);
    for (const limit of limits) {
      if (limit.perMs === undefined) continue;
      const name = `rate ${limit.key}`;
      const known = starts.get(name) ?? { limit, leases: [] };
      starts.set(name, known);
      known.leases.push(lease);
    }
  }
  for (const [name, { limit, leases }] of starts) {
    const { max, perMs = 0 } = limit;
    leases.sort((a, b) => a.from - b.from);
    for (const [no, lease] of leases.entries()) {
      const first = leases[no - max];
      if (first === undefined || lease.at - first.at >= perMs - driftMs) continue;
      const took = lease.at - first.at;
      findings.add('limits', `${name} started ${max + 1} in ${took} ms (event ${lease.from})`);
    }
  }
}

function optionsOf(tables: Evidence['tables'], lease: LoggedLease): StoredOptions {
  return JSON.parse(tables.specs.get(lease.key)?.options ?? '{}') as StoredOptions;
}

function limitsOf({ tables, slots }: Evidence, lease: LoggedLease): Limited[] {
  const limits: Limited[] = [];
  const job = tables.jobs.get(lease.jobNo);
  const spec = tables.specs.get(lease.key);
  const options = optionsOf(tables, lease);
  limits.push({ name: `node ${lease.nodeId}`, max: slots.get(lease.nodeId) ?? 0 });
  if (job !== undefined && job.maxParallel !== null) {
    limits.push({ name: `job ${job.id}`, max: job.maxParallel });
  }
  const key = options.concurrency?.key;
  if (key !== undefined) limits.push({ name: `key ${key}`, max: CONCURRENCY[key] ?? 0 });
  for (const { key: pool, max, perMs } of options.limits ?? []) {
    if (perMs === undefined) limits.push({ name: `limit ${pool}`, max });
  }
  const perNode = options.placement?.maxParallelPerNode;
  if (perNode !== undefined) {
    const placement = `${spec?.executor} ${JSON.stringify(options.placement)}`;
    limits.push({ name: `${placement} on ${lease.nodeId}`, max: perNode });
  }
  return limits;
}

interface StoredOptions {
  readonly concurrency?: { readonly key: string };
  readonly limits?: readonly DraftLimit[];
  readonly placement?: { readonly maxParallelPerNode?: number };
}
