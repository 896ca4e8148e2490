/** Searches for the nearest vectors: exactly, or in the nearest clusters of an index. */
import { defined } from '../../kit/index.ts';
import type { Client } from '../client.ts';
import type { SqlOptions, SqlRow } from '../sql/sql.ts';
import {
  type NearestOptions,
  checkMetric,
  checkWhole,
  nearestSql,
  probeSql,
} from './nearest-sql.ts';

export interface SearchOptions
  extends NearestOptions, Pick<SqlOptions, 'tables' | 'settings' | 'signal'> {
  /** Searches only the clusters of an index whose centroids are nearest; without it every row is searched. */
  readonly probe?: {
    /** The table of centroids that `buildVectorIndex` wrote. */
    readonly centroids: string;
    /** How many clusters are searched; all of them if there are fewer. */
    readonly nprobe: number;
  };
}

const NPROBE_MAX = 100_000;

/** Returns at most `k` rows, nearest first: the key, `distance` and the columns asked for. */
export async function nearest<Row extends object = SqlRow>(
  client: Pick<Client, 'sql'>,
  options: SearchOptions,
): Promise<(Row & { readonly distance: number })[]> {
  const { tables, settings, signal, probe, to, metric = 'cosine' } = options;
  const given = defined({ tables, settings, signal });
  // Refused here rather than after the first query.
  nearestSql(options, null);
  let clusters: number[] | null = null;
  if (probe !== undefined) {
    checkMetric(metric);
    checkWhole(probe.nprobe, 'probe.nprobe', 1, NPROBE_MAX);
    const { sql, params } = probeSql(probe.centroids, to, metric, probe.nprobe);
    const found = await client.sql<{ cluster: number }>(sql, { ...given, params }).rows();
    clusters = found.map(({ cluster }) => cluster);
    if (clusters.length === 0) return [];
  }
  const { sql, params } = nearestSql(options, clusters);
  return client.sql<Row & { readonly distance: number }>(sql, { ...given, params }).rows();
}
