/**
 * The name of a process among all processes of all machines, and proof that it is gone. The name holds the boot
 * and the process namespace in which the number counts, the number, and when the process began; so it is never
 * given to another. Only a process of the same boot and namespace can tell that another one is gone.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { isAlive } from './process-alive.ts';

/** Null where the system offers nothing to build it from. */
export function ownProcess(): string | null {
  const host = hostOfNumbers();
  return host === null ? null : `${host}:${process.pid}:${startOf(process.pid)?.began ?? ''}`;
}

/** True is proof. What follows a further colon is ignored. False says nothing: the process may live, or be one that cannot be seen from here. */
export function isProcessGone(name: string): boolean {
  const [, host, digits, began] = /^([^:]+):(\d{1,10}):(\d*)(?::.*)?$/.exec(name) ?? [];
  const pid = Number(digits);
  if (host === undefined || pid <= 0 || host !== hostOfNumbers()) return false;
  if (!isAlive(pid)) return true;
  const start = startOf(pid);
  // The number belongs to another process by now, or to one that has ended and waits for its parent.
  return start !== null && (start.isOver || (began !== '' && start.began !== began));
}

/** The boot and namespace in a name: the same for all processes of one machine that see each other. */
export function machineOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}

let host: string | null | undefined;

/** Where process numbers mean the same as here. */
function hostOfNumbers(): string | null {
  host ??= readHost();
  return host;
}

function readHost(): string | null {
  try {
    if (process.platform === 'linux') {
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      const namespace = readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
      return /^[\w-]+$/.test(boot) && namespace !== '' ? `${boot}.${namespace}` : null;
    }
    if (process.platform !== 'darwin') return null;
    const boot = execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], {
      encoding: 'utf8',
      timeout: 2_000,
    }).trim();
    return /^[\w-]+$/.test(boot) ? boot : null;
  } catch {
    return null;
  }
}

/** Null where that cannot be read. */
function startOf(pid: number): { readonly began: string; readonly isOver: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state] = fields;
    const began = fields[19] ?? '';
    if (state !== 'Z' && state !== 'X') return { began, isOver: false };
    // The first thread may end before the others do.
    return { began, isOver: readdirSync(`/proc/${pid}/task`).length <= 1 };
  } catch {
    return null;
  }
}
