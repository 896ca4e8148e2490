/** The tables of queries: where they lie, and what may be read at all. */
import type { PinnedTable } from '../plan/index.ts';

/** What a user says of a table: a path, a glob, a list of them, or more. */
export type TableSpec =
  | string
  | readonly string[]
  | {
      readonly paths: string | readonly string[];
      readonly format?: PinnedTable['format'];
      /** By column; what is missing is inferred. */
      readonly schema?: Readonly<Record<string, string>>;
      /** Hive folders (`year=2024/`): true, false, or the types of their keys. */
      readonly hive?: boolean | Readonly<Record<string, string>>;
      /** Files may have different columns: by name, and absent ones are NULL. */
      readonly unionByName?: boolean;
    };

export type TableSpecs = Readonly<Record<string, TableSpec>>;

export interface TablesRequest {
  /** Unchecked, as a request has it: all of these are pinned. They win over the catalog. */
  readonly tables: unknown;
  /** Of the catalog only those are pinned that it may speak of. */
  readonly sql: string;
}

export interface CatalogPort {
  /** Pins every table that is named. Throws `bad_input` with the path of the field, `table_missing`,
   * `path_refused`, `schema_mismatch`. */
  resolve(request: TablesRequest, signal: AbortSignal): Promise<readonly PinnedTable[]>;
}
