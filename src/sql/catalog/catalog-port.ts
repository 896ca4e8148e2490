/** The tables of queries: where their files are, and what may be read at all. */
import type { PinnedTable } from '../plan/index.ts';

/** A table as a user writes it: a path, a glob, a list of them, or an object. */
export type TableSpec =
  | string
  | readonly string[]
  | {
      readonly paths: string | readonly string[];
      readonly format?: PinnedTable['format'];
      /** By column; missing types are inferred. */
      readonly schema?: Readonly<Record<string, string>>;
      /** Hive partitioning (`year=2024/`): true, false, or the types of the keys. */
      readonly hive?: boolean | Readonly<Record<string, string>>;
      /** Files may have different columns, which are matched by name; missing ones are NULL. */
      readonly unionByName?: boolean;
    };

export interface TablesRequest {
  /** Unchecked, as in the request. They take precedence over the catalog. */
  readonly tables: unknown;
  /** Only tables that this statement may mention are pinned. */
  readonly sql: string;
  /** Pins all tables of the request, as for the words of a refusal. */
  readonly isEach?: boolean;
}

export interface CatalogPort {
  /** The tables that a request with these tables can name, in order. None of them is opened. */
  names(tables: unknown): Promise<readonly string[]>;
  /** Equal for requests that can name the same tables: what is open to one of them may be open to the other. */
  scope(tables: unknown): Promise<string>;
  /**
   * Pins every table that is named. Throws `bad_input` with the path of the field, `table_missing`, `path_refused` or
   * `schema_mismatch`.
   */
  resolve(request: TablesRequest, signal: AbortSignal): Promise<readonly PinnedTable[]>;
}
