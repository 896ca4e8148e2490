/**
 * The plan cache. A plan depends on nothing but its key: the statement with its parameters, the time zone, the tables
 * down to their footers, the plan settings, and the declarations of custom operators and functions. The exception is the time: a cached plan gets the current one, and
 * statements that read the clock are not cached.
 */
import { createHash } from 'node:crypto';
import type { PlanRequest } from '../engine/index.ts';
import { type Clock, LruCache } from '../../kit/index.ts';
import type { CustomNames } from './custom-names.ts';
import type { PinnedTable, PlanInput, QueryPlan } from '../plan/index.ts';

export interface PlanCacheOptions {
  readonly clock: Clock;
  readonly plansMax?: number;
  /** Over all plans, as JSON. */
  readonly charsMax?: number;
}

const PLANS_MAX = 500;
const CHARS_MAX = 32 * 2 ** 20;
/** A plan that takes more than this share of the cache would evict too many others. */
const SHARE_MAX = 1 / 8;
/** Plans do not become stale. The limit bounds the damage if that ever proves wrong. */
const KEPT_MS = 5 * 60_000;

interface CachedPlan {
  readonly plan: QueryPlan;
  /** As JSON. */
  readonly chars: number;
  readonly atMs: number;
}

export class PlanCache {
  readonly #clock: Clock;
  readonly #charsMax: number;
  readonly #plans: LruCache<string, CachedPlan>;

  constructor({ clock, plansMax = PLANS_MAX, charsMax = CHARS_MAX }: PlanCacheOptions) {
    this.#clock = clock;
    this.#charsMax = charsMax;
    const weightOf = ({ chars }: CachedPlan): number => chars;
    this.#plans = new LruCache({ max: plansMax, weightMax: charsMax, weightOf });
  }

  /** With the time at which it was made. */
  find(key: string): QueryPlan | null {
    const cached = this.#plans.get(key);
    if (cached === undefined) return null;
    if (this.#clock.monotonicMs() - cached.atMs < KEPT_MS) return cached.plan;
    this.#plans.delete(key);
    return null;
  }

  keep(key: string, plan: QueryPlan): void {
    this.#plans.delete(key);
    const chars = JSON.stringify(plan).length;
    if (chars > this.#charsMax * SHARE_MAX) return;
    this.#plans.set(key, { plan, chars, atMs: this.#clock.monotonicMs() });
  }
}

/** `sql` has its parameters inlined. `custom` are the operators and functions that it may mean. Everything else about a table follows from these files and how they are read. */
export function planKey(
  sql: string,
  { tables, timeZone }: Pick<PlanRequest, 'tables' | 'timeZone'>,
  settings: PlanInput['settings'],
  custom: CustomNames,
): string {
  const hash = createHash('sha256');
  const declared = [[...custom.operators.values()], custom.functions];
  hash.update(JSON.stringify([sql, timeZone, settings, declared]));
  for (const table of tables) addTable(hash, table);
  return hash.digest('base64');
}

function addTable(
  hash: ReturnType<typeof createHash>,
  { name, format, options, select, root, files }: PinnedTable,
): void {
  const pins = files.map(({ path, bytes, mtimeNs, footer }) => [path, bytes, mtimeNs, footer]);
  hash.update(JSON.stringify([name, format, options, select, root, pins]));
}
