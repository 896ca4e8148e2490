/** Who may use a runtime: its token, over HTTP and over gRPC. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { TaskLog } from '../../tasks/executors/index.ts';
import { connect, createRuntime, defineTask } from '../millrace.ts';
import type { Runtime, RuntimeOptions } from '../millrace.ts';
import { startWorker } from '../worker.ts';

const SILENT: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };

const double = defineTask({
  name: 'double',
  input: z.object({ value: z.number() }),
  run: ({ value }) => ({ value: value * 2 }),
});

async function started(options: RuntimeOptions = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory', log: SILENT, ...options });
  onTestFinished(() => runtime.close());
  return runtime;
}

async function statusOf({ url }: Runtime, token?: string): Promise<number> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(`${url}/api/v1/jobs`, { headers })).status;
}

describe('the token of a runtime', () => {
  test('is required over HTTP and over gRPC', async () => {
    const [runtime, other] = await Promise.all([started(), started()]);
    expect(runtime.token).toMatch(/^[\w-]{32,}$/);
    expect(runtime.token).not.toBe(other.token);
    expect(await statusOf(runtime)).toBe(401);
    expect(await statusOf(runtime, other.token ?? '')).toBe(401);
    expect(await statusOf(runtime, runtime.token ?? '')).toBe(200);
    const stranger = connect(runtime.url);
    onTestFinished(() => stranger.close());
    await expect(stranger.submit(double, { value: 1 })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    const joining = startWorker({ server: runtime.grpc, tasks: [double], log: SILENT });
    await expect(joining).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  test('may be chosen, so that other workers can join', async () => {
    const token = 'a-token-of-our-own';
    const runtime = await started({ token, slots: 0 });
    expect(runtime.token).toBe(token);
    const { grpc } = runtime;
    const worker = await startWorker({ server: grpc, token, tasks: [double], log: SILENT });
    onTestFinished(() => worker.drain());
    const job = await runtime.submit({
      tasks: [{ id: 'a', executor: 'double', input: { value: 4 } }],
    });
    expect(await job.job()).toMatchObject({ id: job.id });
    await job.result();
    expect(await job.job()).toMatchObject({
      tasks: [{ node: worker.nodeId, result: { value: 8 } }],
    });
  });

  test('may be disabled, and must have a minimum length', async () => {
    const lines: string[] = [];
    const note = (line: string): void => void lines.push(line);
    const open = await started({
      token: null,
      log: { debug: note, info: note, warn: note, error: note },
    });
    expect(open.token).toBeNull();
    expect(await statusOf(open)).toBe(200);
    const worker = await startWorker({ server: open.grpc, tasks: [double], log: SILENT });
    onTestFinished(() => worker.drain());
    // The node of a runtime has a worker, and does not register beside it under the same name.
    const nodes = (await open.nodes()).map(({ id }) => id);
    expect(nodes.toSorted()).toEqual(['embedded', worker.nodeId].toSorted());
    expect(lines.filter((line) => /node id|registration/.test(line))).toEqual([]);
    await expect(started({ token: 'short' })).rejects.toMatchObject({ code: 'bad_setting' });
    await expect(started({ token: 'with a space and long' })).rejects.toMatchObject({
      code: 'bad_setting',
    });
  });
});
