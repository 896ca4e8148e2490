/** Runs in a thread: reads a `HeldTable` as the heartbeat does, and says what it has found missing or half written. */
import { parentPort, workerData } from 'node:worker_threads';
import { HeldTable } from '../../src/node/worker/held-table.ts';

const { buffer, stop } = workerData as { buffer: SharedArrayBuffer; stop: Int32Array };
const table = new HeldTable(buffer);
const faults: string[] = [];
// No window is meant here.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage('ready');
while (Atomics.load(stop, 0) === 0) {
  const poll = table.seenPoll;
  const held = table.leases;
  const after = table.seenPoll;
  for (const { jobNo, fence, jobId } of held) {
    if (jobNo !== fence || jobId !== `job-${fence}`) faults.push(`${jobNo}, ${fence}, ${jobId}`);
  }
  // A poll brings the lease of its number, which is held until the next but one was seen.
  const isMissing = poll > 0 && after < poll + 2 && !held.some(({ fence }) => fence === poll);
  if (isMissing) faults.push(`${poll} is missing`);
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(faults.slice(0, 5));
