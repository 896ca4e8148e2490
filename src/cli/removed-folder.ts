import { existsSync, rmSync } from 'node:fs';

const TRIES = 20;
const BETWEEN_MS = 25;

/**
 * Removes a folder that processes still had open a moment ago, without the event loop: this also runs while the process
 * exits. A process that was killed ends the system call that it is in, which may make a folder anew.
 */
export function removeFolder(folder: string): void {
  for (let tried = 0; tried < TRIES && existsSync(folder); tried += 1) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_MS);
  }
}
