/** The example worker in Python, on real processes. Skipped where Python has no gRPC, and says so. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFailed, onTestFinished, test, vi } from 'vitest';
import { startCluster } from '../rig/cluster/cluster.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { freshDatabase } from '../rig/postgres.ts';

vi.setConfig({ testTimeout: 120_000 });

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const READY_MS = 30_000;

/** The first one on the path may be one that a version manager has put there, without packages of the system. */
const PYTHONS = ['python3', '/usr/bin/python3'];

/** Null if none has gRPC. */
function pythonWithGrpc(): string | null {
  for (const python of PYTHONS) {
    try {
      execFileSync(python, ['-c', 'import grpc, google.protobuf'], { stdio: 'ignore' });
      return python;
    } catch {
      // The next one may have it.
    }
  }
  console.warn('SKIPPED: no python3 has grpcio, so the worker in Python was not tested.');
  return null;
}

const PYTHON = pythonWithGrpc();

test.skipIf(PYTHON === null)(
  'a worker in Python runs tasks, also after the leader was killed',
  async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const cluster = await startCluster({
      database: database.url,
      ...{ leaders: 2, workers: 0, modules: [] },
    });
    const descriptors = cluster.file('millrace.binpb');
    execFileSync('npx', ['buf', 'build', 'proto', '-o', descriptors], {
      cwd: ROOT,
      stdio: 'ignore',
    });
    const servers = cluster.nodes.map(({ plan }) => plan.grpc).join(',');
    const worker = TestProcess.start(
      ['--server', servers, '--id', 'snake', '--descriptors', descriptors],
      { node: PYTHON ?? '', script: `${ROOT}examples/python-worker/worker.py` },
    );
    onTestFailed(() => console.error(worker.output.text()));
    await worker.line(/^python worker ready snake/, READY_MS);
    const { client } = cluster;
    const counted = async (text: string): Promise<unknown> => {
      const words = { id: 'words', executor: 'word_count', input: text };
      const { id } = await client.submit({ name: 'count', tasks: [words] });
      const { state, tasks } = await client.waitForJob(id);
      expect([state, tasks[0]?.node]).toEqual(['succeeded', 'snake']);
      return tasks[0]?.result;
    };
    expect(await counted('to be or not to be')).toEqual({ be: 2, not: 1, or: 1, to: 2 });

    const retry = { maxAttempts: 2, backoffMs: 1 };
    const failing = await client.submit({
      name: 'f',
      tasks: [{ id: 'x', executor: 'explode', retry }],
    });
    const failed = await client.waitForJob(failing.id);
    expect(failed.tasks[0]).toMatchObject({ state: 'failed', attempt: 2 });
    expect(failed.tasks[0]?.error?.message).toContain('this always fails');

    await (await cluster.leading()).process.crash();
    expect(await counted('Ça va')).toEqual({ va: 1, ça: 1 });
    expect(await worker.stop()).toMatchObject({ code: 0 });
    await cluster.stop();
  },
);
