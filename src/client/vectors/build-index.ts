/**
 * Builds an index of vectors by the layout of files: k-means of a sample, then the rows of each cluster in a Hive
 * folder of their own. A search reads only the folders of the nearest centroids.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { defined, eachOf } from '../../kit/index.ts';
import type { Client } from '../client.ts';
import type { SqlOptions, SqlQuery, SqlTables } from '../sql/sql.ts';
import { kMeans } from './k-means.ts';
import {
  CLUSTER,
  type Metric,
  bad,
  checkMetric,
  checkWhole,
  distance,
  quoted,
} from './nearest-sql.ts';

export interface VectorIndexOptions extends Pick<SqlOptions, 'tables' | 'settings' | 'signal'> {
  readonly table: string;
  readonly key: string;
  readonly vector: string;
  /** A new or empty folder that this program and the server both see under this path. */
  readonly folder: string;
  /** The square root of the number of rows is a good start. */
  readonly clusters: number;
  /** The one that is searched with; `cosine` if not given. */
  readonly metric?: Metric;
  /** How many vectors the centroids are computed from; 100 per cluster if not given, up to 20,000 or one per cluster. */
  readonly sample?: number;
  readonly seed?: number;
}

export interface VectorIndex {
  /** The indexed table under its name, and its centroids as `NAME_centroids`; also in `catalog.json` of the folder. */
  readonly tables: SqlTables;
  /** The rows of each cluster; one without rows has no folder. */
  readonly sizes: readonly number[];
}

const CLUSTERS_MAX = 10_000;
const SAMPLE_MAX = 1_000_000;
const PER_CLUSTER = 100;
/** With many clusters the time would grow with their square. */
const SAMPLE_DEFAULT_MAX = 20_000;
const ITERATIONS = 10;
/** Clusters that are written at the same time. */
const AT_ONCE = 4;

/** Rows without a vector are left out, because no search finds them. */
export async function buildVectorIndex(
  client: Pick<Client, 'sql'>,
  options: VectorIndexOptions,
): Promise<VectorIndex> {
  return new IndexBuild(client, options).run();
}

class IndexBuild {
  readonly #client: Pick<Client, 'sql'>;
  readonly #options: VectorIndexOptions;
  readonly #folder: string;
  readonly #metric: Metric;
  readonly #sample: number;

  constructor(client: Pick<Client, 'sql'>, options: VectorIndexOptions) {
    this.#client = client;
    this.#options = options;
    this.#folder = resolve(options.folder);
    this.#metric = options.metric ?? 'cosine';
    const { clusters } = options;
    this.#sample =
      options.sample ?? Math.max(clusters, Math.min(clusters * PER_CLUSTER, SAMPLE_DEFAULT_MAX));
    checkMetric(options.metric);
    checkWhole(clusters, 'clusters', 1, CLUSTERS_MAX);
    checkWhole(this.#sample, 'sample', clusters, SAMPLE_MAX);
  }

  async run(): Promise<VectorIndex> {
    await mkdir(this.#folder, { recursive: true });
    if ((await readdir(this.#folder)).length > 0)
      throw bad(`The folder ${this.#folder} is not empty.`, 'Use a new folder for each index.');
    await this.#checkColumns();
    const centroids = await this.#centroids();
    await this.#write(centroids);
    const sizes = await this.#divide(centroids);
    const { table } = this.#options;
    const files = (name: string): string => join(this.#folder, name);
    const catalog = (base: (name: string) => string) => ({
      [table]: {
        paths: base(`${CLUSTER}=*/rows.parquet`),
        hive: { [CLUSTER]: 'INTEGER' },
      },
      [`${table}_centroids`]: base('centroids.parquet'),
    });
    const text = JSON.stringify({ tables: catalog((name) => name) }, null, 2);
    await writeFile(files('catalog.json'), `${text}\n`);
    return { tables: catalog(files), sizes };
  }

  async #checkColumns(): Promise<void> {
    const { table } = this.#options;
    const columns = await this.#ask(`SELECT * FROM ${quoted(table)} LIMIT 0`).columns();
    if (!columns.some(({ name }) => name.toLowerCase() === CLUSTER)) return;
    throw bad(`The table ${table} has a column ${CLUSTER} already.`, 'Rename it before.');
  }

  async #centroids(): Promise<readonly Float32Array[]> {
    const { table, key, vector, clusters } = this.#options;
    const [from, by, searched] = [quoted(table), quoted(key), quoted(vector)];
    const query = this.#ask<{ v: readonly number[] }>(
      `SELECT ${searched} AS v FROM ${from} WHERE ${searched} IS NOT NULL ORDER BY hash(${by}), ${by} LIMIT ${this.#sample}`,
    );
    const vectors: Float32Array[] = [];
    for await (const { v } of query)
      if (v.every((each) => Number.isFinite(each))) vectors.push(Float32Array.from(v));
    const [first] = vectors;
    if (first === undefined || first.length === 0)
      throw bad(`The table ${table} has no vectors in ${vector}.`, 'Name another column.');
    const other = vectors.find(({ length }) => length !== first.length);
    if (other !== undefined)
      throw bad(
        `The vectors of ${table} have different lengths, for example ${first.length} and ${other.length}.`,
        'Keep vectors of one length in a column.',
      );
    const isSpherical = this.#metric === 'cosine';
    const { seed = 1, signal } = this.#options;
    return kMeans(vectors, { clusters, iterations: ITERATIONS, seed, isSpherical, signal });
  }

  async #write(centroids: readonly Float32Array[]): Promise<void> {
    const file = join(this.#folder, 'centroids.ndjson');
    const lines = centroids.map((centroid, cluster) =>
      JSON.stringify({ [CLUSTER]: cluster, centroid: Array.from(centroid) }),
    );
    await writeFile(file, `${lines.join('\n')}\n`);
    const sql = `SELECT CAST(${CLUSTER} AS INTEGER) AS ${CLUSTER}, CAST(centroid AS FLOAT[]) AS centroid FROM c`;
    await this.#save(this.#ask(sql, { c: file }), 'centroids.parquet');
    await rm(file);
  }

  /** Sorted by cluster first, so that each cluster is then read without reading the others. */
  async #divide(centroids: readonly Float32Array[]): Promise<readonly number[]> {
    const { table, key, vector } = this.#options;
    const [from, by, searched] = [quoted(table), quoted(key), quoted(vector)];
    const [{ length } = { length: 0 }] = centroids;
    // The centroid with the largest dot product is often the longest one, whatever the vector is.
    const metric = this.#metric === 'dot' ? 'l2' : this.#metric;
    const near = distance(metric, `t.${searched}`, 'c.centroid', length);
    const own = { millrace_centroids: join(this.#folder, 'centroids.parquet') };
    await this.#save(
      this.#ask(
        `WITH own AS (SELECT t.${by}, arg_min(c.${CLUSTER}, ${near}) AS ${CLUSTER}
  FROM ${from} t, millrace_centroids c WHERE t.${searched} IS NOT NULL GROUP BY t.${by})
SELECT r.*, own.${CLUSTER} FROM ${from} r JOIN own ON own.${by} = r.${by} ORDER BY own.${CLUSTER}, r.${by}`,
        own,
      ),
      'rows.parquet',
    );
    const rows = { millrace_rows: join(this.#folder, 'rows.parquet') };
    const sizes = centroids.map(() => 0);
    const counts = this.#ask<{ cluster: number; n: bigint }>(
      `SELECT ${CLUSTER}, count(*) AS n FROM millrace_rows GROUP BY ${CLUSTER}`,
      rows,
    );
    for await (const { cluster, n } of counts) sizes[cluster] = Number(n);
    const filled = sizes.flatMap((size, cluster) => (size === 0 ? [] : [cluster]));
    await eachOf(filled, AT_ONCE, this.#options.signal, async (cluster) => {
      const name = `${CLUSTER}=${cluster}`;
      await mkdir(join(this.#folder, name));
      const sql = `SELECT * EXCLUDE (${CLUSTER}) FROM millrace_rows WHERE ${CLUSTER} = ${cluster} ORDER BY ${by}`;
      await this.#save(this.#ask(sql, rows), join(name, 'rows.parquet'));
    });
    await rm(rows.millrace_rows);
    return sizes;
  }

  #ask<Row extends object>(sql: string, tables: SqlTables = {}): SqlQuery<Row> {
    const { tables: given, settings, signal } = this.#options;
    return this.#client.sql<Row>(sql, {
      tables: { ...given, ...tables },
      ...defined({ settings, signal }),
    });
  }

  async #save(query: SqlQuery<object>, name: string): Promise<void> {
    await pipeline(query.stream('parquet'), createWriteStream(join(this.#folder, name)));
  }
}
