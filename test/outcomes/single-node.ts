/** `millrace up` as a process of its own, and what becomes of the jobs that it is given. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JobError, connect } from 'millrace';
import type { Client, Document, JobHandle, JobShape } from 'millrace';
import { expect, onTestFailed, onTestFinished } from 'vitest';
import { settingsEnvironment } from '../rig/cluster/environment.ts';
import { TestProcess } from '../rig/cluster/process.ts';

export const TASKS: string = fileURLToPath(new URL('tasks.ts', import.meta.url));

export interface SingleNode {
  readonly up: TestProcess;
  readonly url: string;
  readonly grpc: string;
  readonly client: Client;
}

export interface SingleNodeOptions {
  readonly modules?: readonly string[];
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** A node that does not lead within twice the TTL gives up: that is for a busy machine, too. */
const SETTINGS = {
  leaderTtlMs: 10_000,
  sessionTtlMs: 20_000,
  nodeDeadMs: 30_000,
  backoffMs: 20,
};

/** A folder that is gone after the test. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-outcomes-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export async function startNode(options: SingleNodeOptions = {}): Promise<SingleNode> {
  const { modules = [TASKS], flags = [], environment = {} } = options;
  const up = TestProcess.start(
    [
      ...['up', '--data', ownFolder(), '--port', '0', '--grpc-port', '0', '--node-id', 'solo'],
      ...modules.flatMap((file) => ['--module', file]),
      ...flags,
      '--json',
    ],
    { environment: { ...settingsEnvironment(SETTINGS), ...environment } },
  );
  onTestFailed(() => console.error(up.output.text()));
  const [ready] = await up.line(/^\{"ready":true.*$/, 60_000);
  const { url, grpc } = JSON.parse(ready) as { readonly url: string; readonly grpc: string };
  const client = connect(url);
  onTestFinished(() => client.close());
  return { up, url, grpc, client };
}

/** The job as it ended, however it ended. */
export async function ended(handle: JobHandle<unknown>): Promise<JobShape> {
  try {
    await handle.result();
  } catch (error) {
    if (!(error instanceof JobError)) throw error;
    return error.job;
  }
  return handle.job();
}

export interface Outcome {
  readonly state: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly result: unknown;
}

/** One task with each of these inputs, all at once: what became of them, by input. */
export async function outcomes(
  client: Client,
  executor: string,
  inputs: readonly string[],
): Promise<Readonly<Record<string, Outcome>>> {
  const jobs = await Promise.all(
    inputs.map(async (input) => {
      const retry = { maxAttempts: 1 };
      return ended(await client.submit({ tasks: [{ id: 'a', executor, input, retry }] }));
    }),
  );
  const found = jobs.map(({ tasks: [task] }, at): [string, Outcome] => {
    const { state = '', error = null, result = null } = task ?? {};
    const outcome = { state, code: error?.code ?? null, message: error?.message ?? null, result };
    return [inputs[at] ?? '', outcome];
  });
  return Object.fromEntries(found);
}

/** It runs other work as if nothing had been. */
export async function expectStillAtWork(client: Client): Promise<void> {
  const document: Document = { tasks: [{ id: 'a', executor: 'doubling', input: { n: 21 } }] };
  const { state, result } = await ended(await client.submit(document));
  expect({ state, result }).toEqual({ state: 'succeeded', result: { doubled: 42 } });
}
