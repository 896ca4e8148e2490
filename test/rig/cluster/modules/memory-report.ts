/**
 * Loaded into a process of a test with `--import`: on SIGUSR2 the thread of its node, or else its first one, collects garbage and appends what it has in memory to
 * SOAK_MEMORY_FILE, as a line of JSON. With SOAK_SNAPSHOTS it also writes heap snapshots there, to be compared.
 */
import { appendFileSync } from 'node:fs';
import { setFlagsFromString, writeHeapSnapshot } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

/** Finalizers of one round free what the next one finds. */
const ROUNDS = 3;

/** Only the first thread hears signals. */
const asked = new BroadcastChannel('millrace test: memory report');
asked.unref();

function reportTo(file: string): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  asked.addEventListener('message', () => {
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
const isNode = (workerData as { place?: unknown } | null)?.place !== undefined;
const isAroundNode = isMainThread && ['serve', 'up'].some((word) => process.argv.includes(word));
if (isMainThread && given !== undefined) {
  // A channel does not hear itself.
  const ask = new BroadcastChannel(asked.name);
  ask.unref();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is not a window
  process.on('SIGUSR2', () => ask.postMessage('now'));
}
if (given !== undefined && (isNode || (isMainThread && !isAroundNode))) reportTo(given);
