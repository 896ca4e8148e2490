/** The memory available to this process. */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The files with a container's limit: cgroups version 2, then version 1. */
const LIMIT_FILES = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];

/** The machine's memory, or the container's limit if that is less. */
export function machineMemoryBytes(read: (path: string) => string = readText): number {
  const limits = LIMIT_FILES.flatMap((path) => {
    try {
      const bytes = Number(read(path).trim());
      return Number.isFinite(bytes) && bytes > 0 ? [bytes] : [];
    } catch {
      return [];
    }
  });
  return Math.min(totalmem(), ...limits);
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}
