import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Of each benchmark a figure that it prints at its end, after its audit. */
const FIGURES = [
  'memory a queued task',
  'postgres / hand-written',
  'handed in and done, millrace / graphile-worker tuned',
  'queued and done, against graphile-worker',
  'millrace-http / graphile-worker, p99',
  'kill -9 of the leader to the next job accepted',
  'statements a second, 20 workers',
  'cluster / in one process',
  'worker killed -> its task runs again, longest',
  'added to the time of DuckDB, p50',
  'speed of the shuffle with fetching / DuckDB',
  '22 queries, cluster / DuckDB',
];

test('every benchmark runs at a tiny size, and its audit holds', { timeout: 600_000 }, async () => {
  const node = ['--expose-gc', '--import', 'tsx', 'bench/main.ts', 'all', '--quick'];
  // Rejects when one of them fails.
  const { stdout } = await promisify(execFile)(process.execPath, node);
  for (const figure of FIGURES) expect(stdout).toContain(figure);
});
