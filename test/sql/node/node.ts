/** A server node with a worker of its own, in this process and on DuckDB, and the few calls that tests make. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { loadConfig } from '../../../src/node/config/index.ts';
import type { QueryShape } from '../../../src/scheduler/contract/index.ts';
import { ServerNode } from '../../../src/node/server/index.ts';
import { openDuckdbStore } from '../../../src/scheduler/store/index.ts';
import type { Store } from '../../../src/scheduler/store/index.ts';

export interface QueryBench {
  readonly url: string;
  readonly grpc: string;
  readonly node: ServerNode;
  readonly dataFolder: string;
  readonly said: string[];
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Submits, and waits for its end. */
  run(request: object): Promise<QueryShape>;
  rows(request: object): Promise<unknown[][]>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Body;
}

export interface Body {
  readonly id: string;
  readonly state: string;
  readonly code: string;
  readonly detail: string;
  readonly path: string;
  readonly todo: string;
  readonly text: string;
  readonly plan: { readonly stages: readonly { readonly fragment: { sql: string } }[] };
  readonly queries: readonly { readonly id: string }[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

/** On DuckDB in a folder of its own, unless another store is given. */
export async function openNode(
  settings: NodeJS.ProcessEnv = {},
  given?: () => Promise<Store>,
): Promise<QueryBench> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sql-'));
  const environment = {
    PATH: process.env['PATH'],
    NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'],
    MILLRACE_PORT: '0',
    MILLRACE_GRPC_PORT: '0',
    MILLRACE_DATA: folder,
    MILLRACE_SLOTS: '2',
    MILLRACE_NODE_ID: 'solo',
    MILLRACE_DRAIN_MS: '5000',
    ...settings,
  };
  const config = loadConfig({ folder, environment });
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  const store = await (given?.() ?? openDuckdbStore({ path: join(folder, 'millrace.duckdb') }));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const parts = { config, store, environment, say, print: say, hasReflection: false };
  const node = await ServerNode.start(parts).catch(async (error: unknown) => {
    await store.close();
    remove();
    throw error;
  });
  await node.ready().catch(async (error: unknown) => {
    await node.stop();
    remove();
    throw error;
  });
  const { url, grpc } = node.addresses;
  const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
    callApi(`${url}/api/v1/queries${path}`, method, body);
  const run = async (request: object): Promise<QueryShape> => {
    const { status, body, text } = await call('POST', '', request);
    if (status !== 201) throw new Error(`It was not accepted: ${text}`);
    return (await call('GET', `/${body.id}?wait=60000`)).body as unknown as QueryShape;
  };
  return {
    url,
    grpc,
    node,
    dataFolder: folder,
    said,
    call,
    run,
    async rows(request) {
      const { id, state, error } = await run(request);
      if (state !== 'succeeded') throw new Error(`It has ${state}: ${error?.message}`);
      return (await call('GET', `/${id}/results`)).body.rows as unknown[][];
    },
    async close() {
      await node.stop();
      remove();
    },
  };
}

async function callApi(url: string, method: string, body: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Body };
}

/** Writes what queries select to files, by path. */
export async function writeParquet(
  files: Readonly<Record<string, string>>,
  options: string = 'compression snappy',
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  for (const [path, select] of Object.entries(files)) {
    await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet, ${options})`);
  }
  connection.closeSync();
  instance.closeSync();
}
