/**
 * Plans of the latest statements. A plan says nothing that its key does not: the statement with its parameters,
 * the time zone, the tables down to the ends of their files, and what it was divided by. The time is the
 * exception: whoever takes a plan gives it its own, and statements that ask for it are not kept.
 */
import { createHash } from 'node:crypto';
import type { PlanRequest } from '../engine/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { PinnedTable, PlanInput, QueryPlan } from '../plan/index.ts';

export interface PlanCacheOptions {
  readonly clock: Clock;
  readonly plansMax?: number;
  /** Of all of them, as JSON. */
  readonly charsMax?: number;
}

const PLANS_MAX = 500;
const CHARS_MAX = 32 * 2 ** 20;
/** One that takes more than this part of the room would drive out too many others. */
const SHARE_MAX = 1 / 8;
/** Nothing in a plan grows old. If something did that nobody has thought of, it would not for long. */
const KEPT_MS = 5 * 60_000;

interface Kept {
  readonly plan: QueryPlan;
  readonly chars: number;
  readonly atMs: number;
}

export class PlanCache {
  readonly #clock: Clock;
  readonly #plansMax: number;
  readonly #charsMax: number;
  /** The one that was used last stands last. */
  readonly #kept: Map<string, Kept> = new Map();
  #chars = 0;

  constructor({ clock, plansMax = PLANS_MAX, charsMax = CHARS_MAX }: PlanCacheOptions) {
    this.#clock = clock;
    this.#plansMax = plansMax;
    this.#charsMax = charsMax;
  }

  /** With the time at which it was made. */
  find(key: string): QueryPlan | null {
    const kept = this.#kept.get(key);
    if (kept === undefined) return null;
    this.#forget(key, kept);
    if (this.#clock.monotonicMs() - kept.atMs >= KEPT_MS) return null;
    this.#add(key, kept);
    return kept.plan;
  }

  keep(key: string, plan: QueryPlan): void {
    const before = this.#kept.get(key);
    if (before !== undefined) this.#forget(key, before);
    const chars = JSON.stringify(plan).length;
    if (chars > this.#charsMax * SHARE_MAX) return;
    this.#add(key, { plan, chars, atMs: this.#clock.monotonicMs() });
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size <= this.#plansMax && this.#chars <= this.#charsMax) return;
      this.#forget(oldest, kept);
    }
  }

  #add(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#chars += kept.chars;
  }

  #forget(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#chars -= kept.chars;
  }
}

/** `sql` has its parameters in it. What else a table has comes from these files, read in this way. */
export function planKey(
  sql: string,
  { tables, timeZone }: Pick<PlanRequest, 'tables' | 'timeZone'>,
  settings: PlanInput['settings'],
): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([sql, timeZone, settings]));
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
