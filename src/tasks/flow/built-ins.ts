/** The executors that workers have of themselves, with their types, to be used in flows. */
import type { Json } from '../../scheduler/core/index.ts';
import { type ExternalTask, externalTask } from './task.ts';

export interface HttpInput {
  readonly url: string;
  /** GET, or POST when there is a body. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number | readonly string[]>>;
  /** Text goes as it is, anything else as JSON. */
  readonly body?: Json;
  readonly auth?:
    | { readonly bearer: string }
    | { readonly basic: { readonly user: string; readonly password?: string } };
  readonly timeoutMs?: number;
  /** A longer answer fails the task. */
  readonly maxBytes?: number;
  /** How many redirects are followed, at most. */
  readonly redirects?: number;
  /** Every status but 2xx and 410 is tried again; without it only those that pass by themselves. */
  readonly retryOn?: 'any';
}

export interface HttpResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** JSON if the answer says that it is, otherwise text; null when there is none. */
  readonly body: Json;
}

/** What the program in a command or a container is given, and what is taken from it. */
export interface ProcessLimits {
  /** Text goes as it is, anything else as JSON. */
  readonly stdin?: Json;
  readonly timeoutMs?: number;
  /** Of each, stdout and stderr; the rest is cut away. */
  readonly maxOutputBytes?: number;
  /** 0 unless given. Any other fails the task. */
  readonly okExitCodes?: readonly number[];
}

export interface CommandInput extends ProcessLimits {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | number | boolean>>;
}

export interface ContainerInput extends ProcessLimits {
  readonly image: string;
  /** Instead of the image's own. */
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | number | boolean>>;
  readonly mounts?: readonly {
    /** Below a root of the worker. */
    readonly source: string;
    readonly target: string;
    /** True unless given. */
    readonly readOnly?: boolean;
  }[];
  /** None unless given. */
  readonly network?: string;
  /** In bytes, or `512m`. */
  readonly memory?: string | number;
  readonly cpus?: number;
  readonly workdir?: string;
  readonly user?: string;
}

export interface ProcessResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface AggregateInput {
  /** A list, or an object whose values are taken. */
  readonly values: Json;
  /** `collect` unless given: the values as they are. */
  readonly op?: 'collect' | 'concat' | 'merge' | 'sum' | 'count' | 'min' | 'max' | 'avg';
  /** A JSON Pointer into each value. */
  readonly field?: string;
}

export interface SqlInput {
  /** One SELECT in the SQL of DuckDB. */
  readonly sql: string;
  /** Name to path, glob, list of them, or more; as the server sees them. */
  readonly tables?: Readonly<Record<string, Json>>;
  /** Of `$1`, `$2`, ... or of `$name`. */
  readonly params?: readonly Json[] | Readonly<Record<string, Json>>;
  /** Such as `shufflePartitions`. */
  readonly settings?: Readonly<Record<string, number>>;
}

/** Who knows the rows says so: `sqlTask<[string, number]>()`. */
export interface SqlResult<Row = Json[]> {
  readonly queryId: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** In the order of the columns. BIGINT, DECIMAL and the like are text: JSON numbers are too small for them. */
  readonly rows: Row[];
}

export interface BuiltIns {
  /** Answers its input. */
  readonly echo: ExternalTask<Json, Json>;
  /** Holds a slot for this long; `ctx.sleep` in a task of your own does not. */
  readonly sleep: ExternalTask<{ readonly ms: number }, null>;
  /** Asks a server; fails when it answers anything but success. */
  readonly http: ExternalTask<HttpInput, HttpResult>;
  /** Runs a program, without a shell, on workers that allow it. */
  readonly command: ExternalTask<CommandInput, ProcessResult>;
  /** Runs a container, on workers that allow it. */
  readonly container: ExternalTask<ContainerInput, ProcessResult>;
  /** Runs a query, distributed over the workers; for results that are small. */
  readonly sql: ExternalTask<SqlInput, SqlResult>;
  /** Puts values together. */
  readonly aggregate: ExternalTask<AggregateInput, Json>;
}

/** What every worker can run, or may be allowed to: `task('fetch', builtIns.http, { url })`. */
export const builtIns: BuiltIns = Object.freeze({
  echo: externalTask('echo'),
  sleep: externalTask<{ readonly ms: number }, null>('sleep'),
  http: externalTask<HttpInput, HttpResult>('http'),
  command: externalTask<CommandInput, ProcessResult>('command'),
  container: externalTask<ContainerInput, ProcessResult>('container'),
  sql: externalTask<SqlInput, SqlResult>('sql'),
  aggregate: externalTask<AggregateInput>('aggregate'),
});

/**
 * `builtIns.sql` with the type of its rows, which nobody checks:
 *
 * ```ts
 * const { rows } = task('sums', sqlTask<[item: string, cents: number]>(), { sql, tables });
 * ```
 */
export function sqlTask<Row>(): ExternalTask<SqlInput, SqlResult<Row>> {
  return externalTask<SqlInput, SqlResult<Row>>('sql');
}
