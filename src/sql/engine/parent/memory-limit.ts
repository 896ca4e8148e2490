/**
 * The hard limit on the memory of a child process. DuckDB keeps to its own `memory_limit` for what passes through its
 * buffers; lists, strings and constants that it folds while planning do not. So the process as a whole is watched, and
 * killed when it has more than this.
 */
import { readFileSync } from 'node:fs';

const MIB = 2 ** 20;
/** Node.js, DuckDB, their threads, and what earlier calls have left in the allocator. */
const BASE_BYTES = 384 * MIB;
/** DuckDB says of its limit that it may be passed; a query that passes it by this much is stopped. */
const FACTOR = 1.5;
/** Stacks of threads and what the allocators keep for later are mapped and hardly used. */
const MAPPED_BYTES = 1_024 * MIB;
/** How often it is looked at while calls run. In between a process can grow by some hundred MiB. */
export const WATCH_MS = 50;

export function memoryBytesMax(memoryBytes: number): number {
  return Math.floor(memoryBytes * FACTOR) + BASE_BYTES;
}

/**
 * What the system itself refuses to map: it holds while this process is too busy to look. Mapped is more than used, so
 * there is room between the two limits.
 */
export function dataBytesMax(memoryBytes: number): number {
  return 2 * memoryBytesMax(memoryBytes) + MAPPED_BYTES;
}

/** Null where the system does not tell. */
export function residentBytes(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  try {
    // Pages: all that is mapped, then what is in memory.
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 2)[1]);
    return pages * PAGE_BYTES;
  } catch {
    // It has just ended.
    return null;
  }
}

/** The kernel counts in pages of its own; ours tell which. */
const PAGE_BYTES = pageBytes();

function pageBytes(): number {
  if (process.platform !== 'linux') return 4_096;
  try {
    const pages = Number(readFileSync('/proc/self/statm', 'latin1').split(' ', 2)[1]);
    const ratio = process.memoryUsage.rss() / pages;
    return 2 ** Math.round(Math.log2(ratio));
  } catch {
    return 4_096;
  }
}
