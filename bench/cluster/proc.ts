/** What the system knows of a process, from /proc; nothing where there is none. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';

/** Whether processes can be weighed here. */
export const canWeigh: boolean = existsSync('/proc/self/stat');

const ticksPerSecond: number = canWeigh ? Number(execFileSync('getconf', ['CLK_TCK'])) : 1;

/** The fields after the name, which may hold anything: the first one is the state. */
function statOf(pid: number): readonly string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

const PARENT = 1;
const OWN_TIME = [11, 12];
/** Of children that have ended. */
const ENDED_TIME = [13, 14];

function seconds(pid: number, fields: readonly number[]): number {
  const stat = statOf(pid) ?? [];
  const ticks = fields.reduce((sum, field) => sum + Number(stat[field] ?? 0), 0);
  return ticks / ticksPerSecond;
}

/** Processor time that these processes have used, all their threads included. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + seconds(pid, OWN_TIME), 0);
}

/** Of a process and all that it has started, those that have ended included. */
export function treeCpuSeconds(root: number): number {
  const children = childrenOf(root);
  const own = seconds(root, [...OWN_TIME, ...ENDED_TIME]);
  return own + children.reduce((sum, pid) => sum + treeCpuSeconds(pid), 0);
}

export function childrenOf(pid: number): readonly number[] {
  if (!canWeigh) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => Number(statOf(candidate)?.[PARENT]) === pid);
}

export function parentOf(pid: number): number {
  return Number(statOf(pid)?.[PARENT] ?? Number.NaN);
}

/** Resident memory. */
export function rssBytes(pid: number): number {
  if (!canWeigh) return Number.NaN;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
