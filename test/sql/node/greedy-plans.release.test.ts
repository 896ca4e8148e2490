/** What one client's queries take while they are planned, beside the queries of another. On a real server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { settingsEnvironment } from '../../rig/cluster/environment.ts';
import { freePort } from '../../rig/cluster/free-port.ts';
import { TestProcess } from '../../rig/cluster/process.ts';
import { watchedPeak } from '../../rig/process-tree.ts';

const MIB = 2 ** 20;
const PLAN_BYTES = 256 * MIB;
/** What the watchdog allows for that, and what a process can take between two of its looks. */
const CHILD_BYTES_MAX = PLAN_BYTES * 1.5 + 384 * MIB + 768 * MIB;

async function server(): Promise<{ readonly url: string; readonly pid: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-greedy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [port, grpcPort] = [await freePort(), await freePort()];
  const args = ['--port', `${port}`, '--grpc-port', `${grpcPort}`, '--slots', '0'];
  const process = TestProcess.start(['up', '--data', join(folder, 'data'), ...args], {
    environment: { ...settingsEnvironment(), MILLRACE_PLAN_MEMORY_BYTES: `${PLAN_BYTES}` },
  });
  await process.line(/^millrace ready /, 60_000);
  return { url: `http://127.0.0.1:${port}`, pid: process.pid };
}

async function explained(url: string, sql: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`${url}/api/v1/queries/explain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql }),
  });
  return { status: response.status, body: await response.text() };
}

/** DuckDB folds these lists while it plans, outside of its own limit. */
const greedy = (no: number): string =>
  `select list_sum(list_transform(range(60000000), x -> x + ${no})) + list_sum(list_transform(range(${59_000_000 + no}), x -> x * 2))`;

test.runIf(process.platform === 'linux')(
  'queries that take all memory while they are planned are stopped, and others are planned beside them',
  { timeout: 240_000 },
  async () => {
    const { url, pid } = await server();
    expect(await explained(url, 'select 1')).toMatchObject({ status: 200 });
    const peak = watchedPeak(pid);
    onTestFinished(() => peak.stop());
    const over = new AbortController();
    const flood = Promise.all(
      Array.from({ length: 8 }, (_, no) => explained(url, greedy(no))),
    ).finally(() => over.abort());
    let slowestMs = 0;
    let plans = 0;
    while (!over.signal.aborted || plans === 0) {
      const start = performance.now();
      expect(await explained(url, `select ${plans} as n`)).toMatchObject({ status: 200 });
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - start);
      plans += 1;
    }
    const answers = await flood;
    console.log(
      `greedy plans: ${answers.map(({ status }) => status).join(' ')}; largest process ${Math.round(peak.bytes() / MIB)} MiB; ` +
        `${plans} others, the slowest in ${Math.round(slowestMs)} ms`,
    );
    // Planned without folding, out of memory, or too long in coming.
    for (const { status, body } of answers) {
      expect([200, 503, 507]).toContain(status);
      if (status !== 200) expect(body).toMatch(/"code":"(?:out_of_memory|overloaded)"/);
    }
    expect(peak.bytes()).toBeLessThan(CHILD_BYTES_MAX);
    expect(slowestMs).toBeLessThan(20_000);
  },
);
