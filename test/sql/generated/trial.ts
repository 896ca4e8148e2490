/** Generated queries, asked of the product and of DuckDB on the same rows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import { EngineQueries } from '../engine-queries.ts';
import type { Dice } from '../random/dice.ts';
import { callOf, overloads } from './calls.ts';
import type { Overload } from './calls.ts';
import { writeSamples } from './sample-values.ts';
import type { Sample } from './sample-values.ts';
import { AGGREGATE_SHAPES, SCALAR_SHAPES } from './shapes.ts';
import type { Shape } from './shapes.ts';
import { textDifference, textsOf } from './texts.ts';
import type { Texts } from './texts.ts';

export interface Counts {
  /** Compared, in each way in which the query was split. */
  compared: number;
  /** Of these, run as one fragment. */
  whole: number;
  /** Refused by DuckDB itself, or nothing that it can write to Parquet. */
  invalid: number;
  readonly wrong: string[];
}

export interface Case extends Shape {
  readonly name: string;
}

const WAYS = [
  { shufflePartitions: 2, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  { shufflePartitions: 3, broadcastThresholdBytes: 1e9, singleFragmentBytes: 0 },
] as const;

const OVERFLOW = /Overflow in HUGEINT addition/u;

/** Calls that are tried before a function counts as one that these samples do not fit. */
const TRIES = 12;

export class GeneratedTrial {
  readonly counts: Counts = { compared: 0, whole: 0, invalid: 0, wrong: [] };
  readonly samples: readonly Sample[];
  readonly overloads: readonly Overload[];
  readonly #folder: string;
  readonly #queries: EngineQueries;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(
    folder: string,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    samples: readonly Sample[],
    functions: readonly Overload[],
  ) {
    this.#folder = folder;
    this.#instance = instance;
    this.#connection = connection;
    this.samples = samples;
    this.overloads = functions;
    this.#queries = new EngineQueries(folder, { samples: join(folder, 'samples-*.parquet') });
  }

  static async open(): Promise<GeneratedTrial> {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-generated-'));
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    await connection.run(`SET TimeZone = 'UTC'`);
    const samples = await writeSamples(connection, folder);
    // In memory: what is compared are values, and not twice what a scan makes of a file.
    await connection.run(
      `CREATE TABLE samples AS SELECT * FROM read_parquet('${folder}/samples-*.parquet') ORDER BY id`,
    );
    const functions = await overloads(connection);
    return new GeneratedTrial(folder, instance, connection, samples, functions);
  }

  /** A call that DuckDB takes; null when none was found. */
  async call(overload: Overload, dice: Dice): Promise<string | null> {
    // It needs statistics, which a table in memory has and several files have not.
    if (overload.name === 'bitstring_agg') return null;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const call = callOf(overload, this.samples, dice);
      try {
        await this.#connection.run(`SELECT ${call} AS v FROM samples`);
        return call;
      } catch {
        // Another one may fit.
      }
    }
    return null;
  }

  async compare({ name, sql, isOrdered }: Case): Promise<void> {
    const own = await this.#own(sql);
    if (own === null) return;
    let before = '';
    for (const way of WAYS) {
      try {
        const { plan, wrong } = await this.#queries.run(sql, way, async (made, { query }) => ({
          plan: made,
          wrong: textDifference(own, await textsOf(this.#connection, query), isOrdered),
        }));
        this.counts.compared += 1;
        if (wrong !== null) this.counts.wrong.push(`${name}: ${wrong}\n${sql}`);
        if (plan.single !== null) this.counts.whole += 1;
        const stages = JSON.stringify(plan.stages.map(({ fragment }) => fragment.sql));
        if (plan.single !== null || stages === before) return;
        before = stages;
      } catch (error) {
        // Sums at the limit of their type: whether one of them exceeds it depends on the order of the rows.
        if (OVERFLOW.test(String(error)) || !(await this.#canBeWritten(sql))) {
          this.counts.invalid += 1;
          return;
        }
        this.counts.compared += 1;
        this.counts.wrong.push(`${name}: ${String(error)}\n${sql}`);
      }
    }
  }

  /** Maps with NULL keys, which TRY_CAST makes, cannot. */
  async #canBeWritten(sql: string): Promise<boolean> {
    try {
      const file = join(this.#folder, 'own.parquet');
      await this.#connection.run(`COPY (${sql}) TO '${file}' (FORMAT parquet)`);
      return true;
    } catch {
      return false;
    }
  }

  async #own(sql: string): Promise<Texts | null> {
    try {
      return await textsOf(this.#connection, sql);
    } catch {
      this.counts.invalid += 1;
      return null;
    }
  }

  async close(): Promise<void> {
    await this.#queries.close();
    this.#connection.closeSync();
    this.#instance.closeSync();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export function typeCases(samples: readonly Sample[]): readonly Case[] {
  return samples.flatMap(({ type, sql: expression }) =>
    Object.entries(SCALAR_SHAPES).map(([shape, of]) => ({
      name: `${shape} of type ${type}`,
      ...of(expression),
    })),
  );
}

export function castCases(samples: readonly Sample[]): readonly Case[] {
  const types = [...new Set(samples.map(({ type }) => type))];
  return samples.flatMap(({ type, sql: expression }) =>
    types.map((to) => ({
      name: `cast of ${type} to ${to}`,
      sql: `SELECT id, TRY_CAST(${expression} AS ${to}) AS v FROM samples`,
      isOrdered: false,
    })),
  );
}

/** The call in so many shapes, by chance. */
export function callCases(
  { kind, name }: Overload,
  call: string,
  count: number,
  dice: Dice,
): readonly Case[] {
  const shapes = Object.entries(kind === 'aggregate' ? AGGREGATE_SHAPES : SCALAR_SHAPES);
  return dice.some(shapes, count).map(([shape, of]) => ({
    name: `${shape} of ${name}()`,
    ...of(call),
  }));
}
