/** The messages between an engine and its child process. The parent writes the SQL, the child runs it. */
import type { ErrorCode } from '../../scheduler/core/index.ts';
import type { KeySummary, PinnedTable, PlanSettings } from '../plan/index.ts';
import type {
  DistributedQuery,
  EngineLimits,
  FragmentOutput,
  FunctionSignature,
  LogicalAnswer,
  RowsMax,
  TableDescription,
  TableSource,
} from './engine.ts';
import type { KeyColumn } from './sql/key-script.ts';
import type { FoundCall } from './sql/operator-calls.ts';

/** The limits of the engine, with a spill folder of this child process. */
export interface InstanceSettings extends EngineLimits {
  /**
   * The engine's own folder, which calls can read and write. It is the same for later child processes of the engine.
   */
  readonly folder: string;
  /** For planning: some optimizers are disabled. */
  readonly isPlanning: boolean;
  /** Absent in a process that runs no code of users. */
  readonly custom?: CustomSettings;
}

/** The operators and functions of users that a process can run. */
export interface CustomSettings {
  /** To be loaded, as URLs. */
  readonly modules: readonly string[];
  readonly functions: readonly FunctionSignature[];
  /** Names of those that the parent runs, because no module has them. */
  readonly hosted: readonly string[];
  /** The process takes this niceness once the modules are loaded: on a busy machine that would take very long. */
  readonly niceness: number;
}

/** The file descriptor through which the child asks its parent to run code of the parent's own program. */
export const HOST_CHANNEL = 3;

/** How the values of a column are passed. */
export type CustomForm = 'plain' | 'json' | 'text';

export interface CustomColumn {
  readonly name: string;
  readonly type: string;
  readonly form: CustomForm;
}

/** A custom operator that runs before the statement of a fragment. */
export interface CustomRun {
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly memoryBytes: number;
  /** After one batch of input, or after the last one. */
  readonly rowsMax: number;
  /** A query. */
  readonly input: string;
  readonly output: readonly CustomColumn[];
  /** What it returns is stored here. */
  readonly table: { readonly name: string; readonly create: string; readonly drop: string };
}

/** Opened by its own path. */
export interface OpenFile {
  readonly path: string;
  /** Equal pins of a path mean that the file has not changed. */
  readonly pin: string;
}

/** A table as a view. */
export interface TableView {
  readonly name: string;
  readonly select: string;
}

/** What a call can open, besides what it writes itself. */
export interface Sandbox {
  readonly files: readonly OpenFile[];
  /** Linked into the engine's own folder during the call; `as` is the path there. */
  readonly links: readonly SandboxLink[];
  /** Calls of the same scope may open each other's files; absent for nobody's. */
  readonly scope?: string;
  /** The call reads nothing but `files`, so that their footers may be cached. */
  readonly keepsFooters?: boolean;
  /** Tables over `files`, where footers are kept: later calls find them there. */
  readonly views?: readonly TableView[];
}

export interface SandboxLink {
  readonly path: string;
  readonly as: string;
  /** Only the lines that begin in this range of bytes, as a copy; absent for the file itself. */
  readonly bytes?: { readonly from: number; readonly to: number };
}

export interface FragmentCall {
  readonly name: 'fragment';
  readonly sandbox: Sandbox;
  readonly timeZone: string;
  /** Statements to run first; empty for none. */
  readonly setup: string;
  /** Null for a fragment without a custom operator. */
  readonly custom: CustomRun | null;
  /** The operators and functions of users without which it cannot run. */
  readonly requires: readonly string[];
  /** Writes into `OUTPUT` in the engine's own folder. */
  readonly copy: string;
  /** How to return the rows instead, if they are few; null if not requested. */
  readonly rows: ResultRows | null;
  /** Where the output is moved to. */
  readonly target:
    | { readonly kind: 'file'; readonly folder: string; readonly file: string }
    | { readonly kind: 'partitions'; readonly folder: string; readonly count: number };
  /** A file without rows is kept. */
  readonly keepEmpty: boolean;
  /** Columns of the output whose values are to be returned. */
  readonly keys: readonly KeyColumn[];
  /** Counts the rows that the filters of scans leave out; null if that is not asked for. */
  readonly filtered: string | null;
  /** It leaves nothing on the connection but the time zone, so the next call may use it. */
  readonly leavesNoState: boolean;
}

/** The rows are put into a table first, and what is made of them follows from their number. */
export interface ResultRows extends RowsMax {
  /** Creates the table. */
  readonly create: string;
  readonly columns: readonly ResultValues[];
  readonly table: string;
  readonly timeZone: string;
  /** Writes the table into the file that the call's own `copy` would write. */
  readonly copy: string;
  /** The JSON has all of their values, so few rows need no file. */
  readonly isWhole: boolean;
}

/** The values of a column, and how they become JSON: see `child/result-rows.ts`. */
export interface ResultValues {
  /** `json`: a text that is JSON already, and never NULL. `time`: as `quoted`, and not each can be read again. */
  readonly form: 'plain' | 'quoted' | 'time' | 'number' | 'text' | 'json';
  readonly sql: string;
  /** A value may be long. */
  readonly isLong: boolean;
}

export interface FragmentAnswer {
  readonly parts: FragmentOutput['parts'];
  /** A JSON list; null if not requested, or if there are too many. With all their values there is no file. */
  readonly rows: string | null;
  readonly sums: FragmentOutput['sums'];
  readonly keys: readonly (KeySummary | null)[];
  readonly filteredRows: number | null;
  readonly runMs: number;
  readonly spilledBytes: number;
}

export interface RowsCall {
  readonly name: 'rows';
  readonly sandbox: Sandbox;
  readonly timeZone: string;
  readonly source:
    /** A query with one text column; its values are joined. */
    | {
        readonly kind: 'text';
        readonly sql: string;
        readonly head: string;
        readonly separator: string;
        readonly tail: string;
        /** Writes the same rows with their separators into a file, if they are not too long together. */
        readonly copied: CopiedText | null;
      }
    /** Writes a file, which is sent and removed. */
    | { readonly kind: 'file'; readonly copy: string; readonly file: string };
}

export interface CopiedText {
  /** A query for the most bytes that the text can have. */
  readonly bound: string;
  readonly bytesMax: number;
  readonly copy: string;
  readonly file: string;
  /** At its end, if there are rows. */
  readonly cutBytes: number;
}

export interface DescribeCall {
  readonly name: 'describe';
  readonly source: TableSource;
}

/** Finds the calls of custom operators in a statement. */
export interface OperatorsCall {
  readonly name: 'operators';
  readonly sql: string;
  /** In lower case. */
  readonly operators: readonly string[];
}

export interface PlanCall {
  readonly name: 'plan';
  readonly sql: string;
  /** See `PlanRequest.wholeUpToBytes`; null for never. */
  readonly small: { readonly upToBytes: number; readonly tables: readonly TableBytes[] } | null;
  /** Custom functions that the statement may call. */
  readonly functions: readonly FunctionSignature[];
  readonly timeZone: string;
  /** See `Sandbox`. */
  readonly scope?: string;
  readonly tables: readonly TableView[];
  /** Nothing else can be opened, but the files of its scope. */
  readonly files: readonly OpenFile[];
  /** To be planned, it may have to read its tables. */
  readonly readsData: boolean;
}

/** What reading a table costs, in bytes on disk. */
export interface TableBytes {
  readonly name: string;
  readonly bytes: number;
  /** Null if only all of it can be read. */
  readonly columns: readonly (readonly [name: string, bytes: number])[] | null;
}

/** Plans a statement, splits the plan and binds its fragments. */
export interface DistributeCall extends Omit<PlanCall, 'name'> {
  readonly name: 'distribute';
  readonly pinned: readonly PinnedTable[];
  readonly settings: PlanSettings;
}

export interface DistributeAnswer extends Omit<DistributedQuery, 'plan'> {
  /** As JSON. */
  readonly plan: string;
}

export type BindAnswer = BoundTypes | { readonly fault: string };

/** For each stage the types of its columns in order, then the type of one more column. */
export interface BoundTypes {
  readonly types: readonly string[];
  /** For each lookup its keys in ascending order; null if there are none, or too many, or if they could not be read. */
  readonly keys?: readonly (readonly number[] | null)[];
}

export type PlanAnswer = Omit<LogicalAnswer, 'sql'>;

export type EngineCall =
  | FragmentCall
  | RowsCall
  | DescribeCall
  | OperatorsCall
  | PlanCall
  | DistributeCall;

export interface Answers {
  readonly fragment: FragmentAnswer;
  readonly rows: null;
  readonly describe: TableDescription;
  readonly operators: readonly FoundCall[];
  readonly plan: PlanAnswer;
  readonly distribute: DistributeAnswer;
}

/** DuckDB's parser counts characters; everything else in DuckDB counts UTF-8 bytes. */
export interface Position {
  readonly at: number;
  readonly unit: 'byte' | 'character';
}

export interface Fault {
  /** `interrupted`: the call was aborted. */
  readonly code: ErrorCode | 'interrupted';
  readonly what: string;
  readonly why?: string;
  readonly todo?: string;
  /** Offset in the statement. */
  readonly position?: Position;
  /** The operator or function that this process was to have and does not have. */
  readonly missing?: string;
  /** DuckDB must not be used any more. */
  readonly isBroken?: boolean;
}

export type ToChild =
  | { readonly kind: 'open'; readonly settings: InstanceSettings }
  | { readonly kind: 'call'; readonly id: number; readonly call: EngineCall }
  | { readonly kind: 'abort'; readonly id: number }
  /** The reader has taken this many pieces. */
  | { readonly kind: 'credit'; readonly id: number; readonly pieces: number }
  | { readonly kind: 'close' };

export type FromChild =
  | { readonly kind: 'ready'; readonly duckdb: string }
  /** The memory of this process, where the parent cannot read it. */
  | { readonly kind: 'memory'; readonly residentBytes: number }
  /** A custom operator has begun this batch. */
  | {
      readonly kind: 'progress';
      readonly id: number;
      readonly batch: number;
      readonly fraction: number | null;
      readonly note: string | null;
    }
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number | null; readonly fault: Fault };

/**
 * The folder that a fragment writes into; empty before and after. A folder per fragment would take longer than most
 * fragments.
 */
export const OUTPUT = 'out';

/** How many pieces may be in flight to a reader. */
export const WINDOW_PIECES = 4;
