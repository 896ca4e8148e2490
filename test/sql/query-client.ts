/** Queries over a server's HTTP API, as `curl` would send them: nothing of the product's own client is used. */
import type { TableSpec } from '../../src/sql/catalog/index.ts';
import type { Answer } from './contract-values.ts';

export interface QueryToRun {
  readonly sql: string;
  readonly tables: Readonly<Record<string, TableSpec>>;
  readonly settings?: Readonly<Record<string, number>>;
}

/** It was refused, or it failed. */
export class QueryFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
}

export interface QuerySeen {
  readonly id: string;
  readonly state: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly single: string | null;
  readonly stages: readonly {
    readonly tasks: { readonly total: number; readonly recomputed: number };
    readonly bytesOut: number;
    readonly rowsOut: number;
    readonly fetchedBytes: number;
    readonly grouping: { readonly skewed: readonly { readonly tasks: number }[] } | null;
  }[];
}

const ENDED = new Set(['succeeded', 'failed', 'cancelled']);
const WAIT_MS = 30_000;

/** `seen` is the query as it ended, before its rows are read. */
export async function runQuery(
  url: string,
  query: QueryToRun,
  seen: (query: QuerySeen) => void = () => {},
): Promise<Answer> {
  const { id } = await call<QuerySeen>(url, 'POST', '/api/v1/queries', query);
  let shown: QuerySeen;
  do shown = await call<QuerySeen>(url, 'GET', `/api/v1/queries/${id}?wait=${WAIT_MS}`);
  while (!ENDED.has(shown.state));
  seen(shown);
  if (shown.state !== 'succeeded') {
    const { code, message } = shown.error ?? { code: shown.state, message: shown.state };
    throw new QueryFailure(code, message);
  }
  return call<Answer>(url, 'GET', `/api/v1/queries/${id}/results?format=json`);
}

export async function call<T>(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(new URL(path, url), {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  const { code = `${response.status}`, title = '', detail = '' } = JSON.parse(text) as Problem;
  throw new QueryFailure(code, `${title} ${detail}`.trim());
}
