/** What servers and workers export is what the guide documents, in both directions, on real processes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { documentedMetrics } from '../docs/metrics.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { until } from '../rig/until.ts';

const scrape = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text();

const exported = (text: string): string[] =>
  [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);

test('every exported metric is documented, and every documented one is exported', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'metrics-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ports = ['--port', '0', '--grpc-port', '0', '--slots', '0', '--data', join(folder, 'data')];
  const server = TestProcess.start(['up', ...ports], { folder });
  const [, url = ''] = await server.line(/^millrace ready (\S+)/, 60_000);
  const { grpc } = (await (await fetch(`${url}/api/v1/leader`)).json()) as { grpc: string };
  const worker = TestProcess.start(
    ['worker', '--server', grpc, '--slots', '1', '--http-port', '0', '--json'],
    { folder },
  );
  const [, port] = await worker.line(/"httpPort":(\d+)/, 60_000);
  const workerUrl = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${workerUrl}/readyz`)).status === 200, 'the worker');

  const body = JSON.stringify({
    name: 'one',
    tasks: [
      { id: 'a', executor: 'echo', input: 1 },
      { id: 'b', executor: 'nobody has this', dependsOn: ['a'] },
      { id: 'c', executor: 'echo', dependsOn: ['b'] },
    ],
  });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/api/v1/jobs`, { method: 'POST', headers, body });
  await until(
    async () => /millrace_tasks\{state="succeeded"\} 1/.test(await scrape(url)),
    'the first task to succeed',
  );

  const [onServer, onWorker] = [await scrape(url), await scrape(workerUrl)];
  const names = new Set([...exported(onServer), ...exported(onWorker)]);
  expect([...names].toSorted()).toEqual([...documentedMetrics()].toSorted());
  for (const line of [
    'millrace_jobs{state="queued"} 0',
    'millrace_jobs{state="running"} 1',
    'millrace_tasks{state="blocked"} 1',
    'millrace_tasks{state="ready"} 1',
    'millrace_tasks{state="delayed"} 0',
    'millrace_tasks{state="running"} 0',
    'millrace_tasks{state="succeeded"} 1',
    'millrace_tasks{state="failed"} 0',
    'millrace_tasks{state="cancelled"} 0',
    'millrace_tasks{state="skipped"} 0',
    'millrace_task_queue_seconds_count 1',
    'millrace_task_run_seconds_count{executor="echo"} 1',
    'millrace_task_attempts_total{outcome="succeeded"} 1',
  ]) {
    expect(onServer.split('\n')).toContain(line);
  }
  expect(onServer).toMatch(/^millrace_commit_seconds_count [1-9]/m);
  expect(onWorker.split('\n')).toContain('millrace_worker_run_seconds_count{executor="echo"} 1');
  await until(async () => {
    const { nodes } = (await (await fetch(`${url}/api/v1/nodes`)).json()) as {
      nodes: { figures: { residentBytes: number; diskFreeBytes: number } | null }[];
    };
    const { residentBytes = 0, diskFreeBytes = 0 } = nodes[0]?.figures ?? {};
    return residentBytes > 1e6 && diskFreeBytes > 0;
  }, 'a heartbeat with the memory and the disk of the worker');
  await Promise.all([worker.stop(), server.stop()]);
}, 120_000);
