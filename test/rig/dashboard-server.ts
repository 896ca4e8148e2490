/** A real `millrace up` for tests of the dashboard. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { TestProcess } from './cluster/process.ts';

export interface DashboardServer {
  readonly process: TestProcess;
  readonly url: string;
  readonly folder: string;
  /** The answer to a call of the API. */
  call<T>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<T>;
  submit(document: object): Promise<string>;
  /** Settles when a job has ended. */
  ended(id: string): Promise<void>;
}

export async function startDashboard(
  args: readonly string[] = [],
  token?: string,
): Promise<DashboardServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = TestProcess.start(
    [
      'up',
      '--port',
      '0',
      '--grpc-port',
      '0',
      '--slots',
      '2',
      '--data',
      join(folder, 'data'),
      '--root',
      folder,
      ...args,
    ],
    { folder },
  );
  const [, url = ''] = await server.line(/^millrace ready (\S+)/, 45_000);
  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
    headers = {},
  ): Promise<T> => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (response.status === 204 ? null : await response.json()) as T;
  };
  return {
    process: server,
    url,
    folder,
    call,
    submit: async (document) => (await call<{ id: string }>('POST', 'jobs', document)).id,
    ended: async (id) => {
      for (;;) {
        const { finishedAt } = await call<{ finishedAt: string | null }>('GET', `jobs/${id}`);
        if (finishedAt !== null) return;
        await setImmediate();
      }
    },
  };
}
