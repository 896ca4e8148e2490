/**
 * The hard memory limit of a child process. DuckDB's `memory_limit` covers its buffers, but not lists, strings and
 * constants that it folds while planning. So the whole process is watched, and killed when it exceeds this limit.
 */
import { readFileSync } from 'node:fs';

const MIB = 2 ** 20;
/** Node.js, DuckDB, their threads, and what earlier calls have left in the allocator. */
const BASE_BYTES = 384 * MIB;
/** DuckDB may exceed its own limit; a query that exceeds it by this factor is killed. */
const FACTOR = 1.5;
/** Thread stacks and memory that allocators reserve are mapped but hardly used. */
const MAPPED_BYTES = 1_024 * MIB;
/** How often it is checked while calls run. In between a process can grow by some hundred MiB. */
export const WATCH_MS = 50;

export function memoryBytesMax(memoryBytes: number): number {
  return Math.floor(memoryBytes * FACTOR) + BASE_BYTES;
}

/**
 * The limit that the operating system enforces, even while this process is too busy to check. More is mapped than
 * used, so there is a margin between the two limits.
 */
export function dataBytesMax(memoryBytes: number): number {
  return 2 * memoryBytesMax(memoryBytes) + MAPPED_BYTES;
}

/** Returns null where the system does not tell. */
export function residentBytes(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  try {
    // In pages: the total mapped size, then the resident size.
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 2)[1]);
    return pages * PAGE_BYTES;
  } catch {
    // The process has just ended.
    return null;
  }
}

/** The kernel counts in pages of its own size, which is derived from our own figures. */
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
