/**
 * Queries planned by a leader's planner and run by a worker's engine, task by task, with real Parquet files between
 * the stages. Everything of a cluster that can change a value is here; scheduling and network are not.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Catalog } from '../../src/sql/catalog/index.ts';
import type { TableSpec } from '../../src/sql/catalog/index.ts';
import { defaultSettings } from '../../src/scheduler/core/index.ts';
import { startFragmentEngine, startPlanningEngine } from '../../src/sql/engine/index.ts';
import type { FragmentEngine, PlanningEngine } from '../../src/sql/engine/index.ts';
import { systemClock } from '../../src/kit/index.ts';
import { SqlPlanner } from '../../src/sql/planner/index.ts';
import { coalescing, readSettings } from '../../src/sql/planner/settings.ts';
import type { QueryPlan } from '../../src/sql/plan/index.ts';
import { runJobLocally } from './plan/run-job-locally.ts';
import type { LocalResult } from './plan/run-job-locally.ts';
import type { Answer, Cell } from './contract-values.ts';

export interface EngineAnswer {
  readonly plan: QueryPlan;
  readonly answer: Answer;
}

const MEMORY_BYTES = 1024 * 1024 * 1024;
const CALL_MS = 60_000;

type QuerySettings = Readonly<Record<string, number>>;

export class EngineQueries {
  /** What the planner took for a fault of its own. */
  readonly faults: unknown[] = [];
  readonly #folder: string;
  readonly #tables: Readonly<Record<string, TableSpec>>;
  readonly #catalog: Catalog;
  readonly #planning: PlanningEngine;
  readonly #fragments: FragmentEngine;
  readonly #planner: SqlPlanner;
  #runs = 0;

  constructor(folder: string, tables: Readonly<Record<string, TableSpec>>) {
    this.#folder = folder;
    this.#tables = tables;
    const limits = { memoryBytes: MEMORY_BYTES, threads: 1, spillBytesMax: 0 };
    const spillFolder = (name: string): string => join(folder, `spill-${name}`);
    this.#planning = startPlanningEngine({ ...limits, spillFolder: spillFolder('planning') });
    this.#fragments = startFragmentEngine({ ...limits, spillFolder: spillFolder('fragments') });
    this.#catalog = new Catalog({
      allowed: 'named',
      describe: (source, signal) => this.#planning.describe(source, signal),
      file: null,
      folder,
    });
    this.#planner = new SqlPlanner({
      planMs: 60_000,
      catalog: this.#catalog,
      engine: this.#planning,
      settings: defaultSettings,
      slots: () => 3,
      clock: systemClock,
      onFault: (error) => this.faults.push(error),
    });
  }

  async plan(sql: string, settings: QuerySettings): Promise<QueryPlan> {
    const request = { sql, tables: this.#tables, settings };
    return (await this.#planner.explain(request, AbortSignal.timeout(CALL_MS))).plan;
  }

  /** The rows as `format=json` shows them. */
  async ask(sql: string, settings: QuerySettings): Promise<EngineAnswer> {
    return this.run(sql, settings, async (plan, { files }) => ({
      plan,
      answer: { columns: plan.columns, rows: await this.#rows(plan, files) },
    }));
  }

  /** What `read` makes of the result's files, which are gone afterwards. */
  async run<T>(
    sql: string,
    settings: QuerySettings,
    read: (plan: QueryPlan, result: LocalResult) => Promise<T>,
  ): Promise<T> {
    const made = await this.plan(sql, settings);
    const coalesce = coalescing(readSettings({ targetPartitionBytes: 0, ...settings }));
    const plan = coalesce === null ? made : { ...made, coalesce };
    const tables = await this.#catalog.resolve(
      { tables: this.#tables, sql },
      AbortSignal.timeout(CALL_MS),
    );
    const folder = join(this.#folder, `run-${++this.#runs}`);
    mkdirSync(folder);
    try {
      return await read(plan, await runJobLocally(this.#fragments, plan, tables, folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async #rows(plan: QueryPlan, files: readonly string[]): Promise<Answer['rows']> {
    const request = { parts: files, columns: plan.columns, format: 'json' } as const;
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#fragments.rows(request, AbortSignal.timeout(CALL_MS)))
      pieces.push(piece);
    const { rows } = JSON.parse(Buffer.concat(pieces).toString()) as { rows: Cell[][] };
    return rows;
  }

  async close(): Promise<void> {
    await Promise.all([this.#planning.close(), this.#fragments.close()]);
  }
}
