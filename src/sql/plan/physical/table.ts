/** A table as it was when the query was submitted: its files and columns. */

export interface PinnedTable {
  readonly name: string;
  readonly format: 'parquet' | 'csv' | 'json';
  readonly files: readonly PinnedFile[];
  readonly columns: readonly TableColumn[];
  /** Further arguments of the reader function, as SQL; empty for none. */
  readonly options: string;
  /**
   * The query that reads all of it: `SELECT * FROM read_parquet([...], ...)`, with casts to the catalog's types if
   * there are any.
   */
  readonly select: string;
  /** The root that contains all files; null if no root is set. */
  readonly root: string | null;
  /** It stands for the output of a custom operator while a query is planned, and has no files. */
  readonly isPlaceholder?: true;
  /** Present if the rows of its text files end with their lines, so that tasks can read ranges of their bytes. */
  readonly lines?: TableLines;
  /** The clustered columns; absent if the files were not examined. */
  readonly clusters?: readonly Cluster[];
  /**
   * The same of dates, and of columns with NULL, which is not counted. Rows are not split by them, but they say
   * which row groups have rows that a query needs. Absent for none.
   */
  readonly ascending?: readonly Cluster[];
}

export interface TableLines {
  /** Estimated, over all files. */
  readonly rows: number;
  /** Further arguments of the reader function for some lines of a file, which have no header. */
  readonly options: string;
  /** The length of the header of each file. */
  readonly headerBytes: number;
}

/**
 * A clustered column: an integer column without NULL whose values ascend, or nearly so, from one row group to the
 * next. The table can be range-partitioned by it with few row groups read by more than one task.
 */
export interface Cluster {
  /** Its name in the table. */
  readonly column: string;
  /** One for each row group, file by file. */
  readonly groups: readonly ClusterGroup[];
}

export interface ClusterGroup {
  /** The index of its file in the table. */
  readonly file: number;
  readonly rows: number;
  /** Its smallest and largest value. */
  readonly min: number;
  readonly max: number;
}

/** A range of values of one column of a scan, from `from` up to but not including `to`; null for no bound. */
export interface ValueSpan {
  /** The index of the column in the scan. */
  readonly column: number;
  readonly from: number | null;
  readonly to: number | null;
  /**
   * Paths of the files that also have values outside the range. All rows of the other files are taken without a
   * filter: DuckDB would estimate that a filter keeps a fifth of the rows, and choose a bad join order.
   */
  readonly mixed: readonly string[];
  /** The approximate number of rows that are read for it. */
  readonly rows: number;
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** The size of its chunks on disk; null if the format does not tell. */
  readonly bytes: number | null;
  /** The approximate number of distinct values; absent if the files do not tell. */
  readonly distinct?: number;
  /** All values of a column of whole numbers are within these two; absent if the files do not tell. */
  readonly range?: readonly [number, number];
}

export interface PinnedFile {
  readonly path: string;
  readonly bytes: number;
  /** Nanoseconds since 1970, as text because a JavaScript number cannot hold them. */
  readonly mtimeNs: string;
  /** A hash of the end of the file, where Parquet has its footer. */
  readonly footer: string;
  /** Null if the format does not tell. */
  readonly rows: number | null;
  /** The number of rows in each row group, in order; empty if the format has none. */
  readonly groups: readonly number[];
}

/**
 * Rows of a file, from `from` up to but not including `to`; both null for the whole file. Of a text file, the lines that
 * begin at these bytes.
 */
export interface FileRange extends Omit<PinnedFile, 'groups'> {
  readonly from: number | null;
  readonly to: number | null;
}
