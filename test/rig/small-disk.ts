/** A file system with little room, to fill up. Mounting one takes rights that only root has; tests without them skip. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const MIB = 2 ** 20;
const BALLAST = 'ballast';

function mount(folder: string, mib: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=700`, 'tmpfs', folder], {
    stdio: 'ignore',
  });
}

/** Also while a process of the test still has a file open there. */
function unmount(folder: string): void {
  execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
}

function isAllowed(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-mount-'));
  try {
    mount(folder, 1);
    unmount(folder);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const canMount: boolean = isAllowed();

/** Mounts one at `folder`, until the test ends. Processes that use it are started later, so that they end before. */
export function smallDisk(folder: string, mib: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  mount(folder, mib);
  onTestFinished(() => unmount(folder));
}

/** Takes up room that `freeRoom` gives back. */
export function takeRoom(folder: string, mib: number): void {
  writeFileSync(join(folder, BALLAST), Buffer.alloc(mib * MIB, 1));
}

export function freeRoom(folder: string): void {
  rmSync(join(folder, BALLAST));
}
