/**
 * Loaded into a process of a test with `--import`: on SIGUSR2 it collects garbage and appends what it has in memory to
 * SOAK_MEMORY_FILE, as a line of JSON. With SOAK_SNAPSHOTS it also writes heap snapshots there, to be compared.
 */
import { appendFileSync } from 'node:fs';
import { setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** Finalizers of one round free what the next one finds. */
const ROUNDS = 3;

function reportTo(file: string): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    for (let round = 0; round < ROUNDS; round += 1) collect();
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
    appendFileSync(
      file,
      `${JSON.stringify({ pid: process.pid, rss, heapUsed, external, arrayBuffers })}\n`,
    );
    const snapshots = process.env['SOAK_SNAPSHOTS'];
    if (snapshots !== undefined)
      writeHeapSnapshot(`${snapshots}/${process.pid}-${Date.now()}.heapsnapshot`);
  });
}

const given = process.env['SOAK_MEMORY_FILE'];
if (isMainThread && given !== undefined) reportTo(given);
