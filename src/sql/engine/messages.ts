/** What is said between an engine and its child process. SQL is made on this side of it and run on the other. */
import type { ErrorCode } from '../../scheduler/core/index.ts';
import type { SplitQueryInput } from '../plan/index.ts';
import type {
  BoundTypes,
  FragmentOutput,
  LogicalAnswer,
  RowsMax,
  TableDescription,
  TableSource,
} from './engine.ts';

export interface InstanceSettings {
  readonly memoryBytes: number;
  readonly threads: number;
  /** Of this process alone. */
  readonly spillFolder: string;
  readonly spillBytesMax: number;
  /** The engine's own: what lies in it can be read and written. Of the engine, not of this process alone. */
  readonly folder: string;
  /** It plans: some optimizers are off. */
  readonly isPlanning: boolean;
}

/** All that a call can open, besides what it writes itself. */
export interface Sandbox {
  /** Opened where they are. */
  readonly files: readonly string[];
  /** Linked into the engine's own folder while the call lasts, by the path that they have there. */
  readonly links: readonly { readonly path: string; readonly as: string }[];
}

export interface FragmentCall {
  readonly name: 'fragment';
  readonly sandbox: Sandbox;
  readonly timeZone: string;
  /** Statements that are run first; empty for none. */
  readonly setup: string;
  /** Writes into `OUTPUT` in the engine's own folder. */
  readonly copy: string;
  /** Where it is moved to. */
  readonly target:
    | { readonly kind: 'file'; readonly folder: string; readonly file: string }
    | { readonly kind: 'partitions'; readonly folder: string; readonly count: number };
  /** A file without rows stays where it is. */
  readonly keepEmpty: boolean;
  /** How its rows are answered when they are few; null when nobody asks for them. */
  readonly rows: InlineRowsRequest | null;
  /** Nothing of it stays on the connection but the time zone, so the next call may have it. */
  readonly leavesNoState: boolean;
}

/** Of the one file that was written. */
export interface InlineRowsRequest extends RowsMax {
  /** Of one column: a row as a list in JSON. */
  readonly sql: string;
  readonly timeZone: string;
  readonly columns: number;
  /** No value of it is longer than the file, however well that is written. */
  readonly isFlat: boolean;
}

export interface FragmentAnswer {
  readonly parts: FragmentOutput['parts'];
  /** A list in JSON; null when nobody asked, or there are too many. */
  readonly rows: string | null;
  readonly sums: FragmentOutput['sums'];
  readonly runMs: number;
  readonly spilledBytes: number;
}

export interface RowsCall {
  readonly name: 'rows';
  readonly sandbox: Sandbox;
  readonly timeZone: string;
  readonly source:
    /** A query with one column of text; the pieces are joined. */
    | {
        readonly kind: 'text';
        readonly sql: string;
        readonly head: string;
        readonly separator: string;
        readonly tail: string;
      }
    /** A Parquet file of this query is made, sent and removed. */
    | { readonly kind: 'file'; readonly query: string; readonly file: string };
}

export interface DescribeCall {
  readonly name: 'describe';
  readonly source: TableSource;
}

export interface PlanCall {
  readonly name: 'plan';
  readonly sql: string;
  readonly timeZone: string;
  /** The same key, the same tables. */
  readonly key: string;
  readonly tables: readonly { readonly name: string; readonly select: string }[];
  /** Nothing else can be opened. */
  readonly files: readonly string[];
}

/** Binds a statement where a plan was made, without running it. */
export interface BindCall extends Omit<PlanCall, 'name' | 'sql'> {
  readonly name: 'bind';
  /** Begins with DESCRIBE. */
  readonly statement: string;
}

export type BindAnswer = BoundTypes | { readonly fault: string };

export interface SplitCall {
  readonly name: 'split';
  readonly input: SplitQueryInput;
}

export interface SplitAnswer {
  /** As JSON. */
  readonly plan: string;
  readonly faults: readonly string[];
}

export type PlanAnswer = Omit<LogicalAnswer, 'sql'>;

export type EngineCall = FragmentCall | RowsCall | DescribeCall | PlanCall | BindCall | SplitCall;

export interface Answers {
  readonly fragment: FragmentAnswer;
  readonly rows: null;
  readonly describe: TableDescription;
  readonly plan: PlanAnswer;
  readonly bind: BindAnswer;
  readonly split: SplitAnswer;
}

/** DuckDB's parser counts characters, all else in it bytes of UTF-8. */
export interface Position {
  readonly at: number;
  readonly unit: 'byte' | 'character';
}

export interface Fault {
  /** `interrupted`: it was told to stop. */
  readonly code: ErrorCode | 'interrupted';
  readonly what: string;
  readonly why?: string;
  readonly todo?: string;
  /** Where in the statement, from its beginning. */
  readonly position?: Position;
  /** DuckDB is not to be used any more. */
  readonly isBroken?: boolean;
}

export type ToChild =
  | { readonly kind: 'open'; readonly settings: InstanceSettings }
  | { readonly kind: 'call'; readonly id: number; readonly call: EngineCall }
  | { readonly kind: 'abort'; readonly id: number }
  /** The reader has taken so many pieces. */
  | { readonly kind: 'credit'; readonly id: number; readonly pieces: number }
  | { readonly kind: 'close' };

export type FromChild =
  | { readonly kind: 'ready'; readonly duckdb: string }
  /** Where the system does not tell others: what this process has in memory. */
  | { readonly kind: 'memory'; readonly residentBytes: number }
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number | null; readonly fault: Fault };

/** What a fragment writes into; empty before and after it. A folder for each would take longer than most fragments. */
export const OUTPUT = 'out';

/** How many pieces may be under way to a reader that has taken none of them. */
export const WINDOW_PIECES = 4;
