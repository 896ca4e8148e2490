/** A table as it was when a query was submitted: which files, with which columns. */

export interface PinnedTable {
  readonly name: string;
  readonly format: 'parquet' | 'csv' | 'json';
  readonly files: readonly PinnedFile[];
  readonly columns: readonly TableColumn[];
  /** Further arguments of the reading function, as SQL; empty for none. */
  readonly options: string;
  /** What reads all of it: `SELECT * FROM read_parquet([...], ...)`, perhaps with casts to the catalog's types. */
  readonly select: string;
  /** The root that all files lie below; null when no root is set. */
  readonly root: string | null;
  /** By which values the files are in order, or nearly; absent when nobody has looked. */
  readonly clusters?: readonly Cluster[];
}

/** A column of whole numbers, never NULL, whose values grow from one row group to the next, or nearly so. Rows can
 * be divided by them, and each part still reads few row groups. */
export interface Cluster {
  /** As the table has it. */
  readonly column: string;
  /** One for each row group, file by file. */
  readonly groups: readonly ClusterGroup[];
}

export interface ClusterGroup {
  /** The place of its file in the table. */
  readonly file: number;
  readonly rows: number;
  /** Its smallest and its largest value. */
  readonly min: number;
  readonly max: number;
}

/** Values of one column of a scan, from `from` to before `to`; null for no bound. */
export interface ValueSpan {
  /** The place of the column in the scan. */
  readonly column: number;
  readonly from: number | null;
  readonly to: number | null;
  /** Paths of the files that have other values as well. Of the others every row is taken, without a filter: DuckDB would
   * take it for one that leaves a fifth of the rows, and join in the wrong order. */
  readonly mixed: readonly string[];
  /** About how many rows are looked at for it. */
  readonly rows: number;
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** What its chunks take on disk; null when the format does not say. */
  readonly bytes: number | null;
  /** About how many different values it has; absent when the files do not say. */
  readonly distinct?: number;
}

export interface PinnedFile {
  readonly path: string;
  readonly bytes: number;
  /** Nanoseconds since 1970, as text: more than a JavaScript number can hold. */
  readonly mtimeNs: string;
  /** A hash of the file's last bytes, where Parquet has its footer. */
  readonly footer: string;
  /** Null when the format does not say. */
  readonly rows: number | null;
  /** Rows of each row group, in order; empty when the format has none. */
  readonly groups: readonly number[];
}

/** Rows of a file, from `from` to before `to`; both null for the whole file. */
export interface FileRange extends Omit<PinnedFile, 'groups'> {
  readonly from: number | null;
  readonly to: number | null;
}
