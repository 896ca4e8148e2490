/**
 * The process groups that this process has started. They must not outlive it: when it ends in order they
 * are killed on its way out, and when it is killed itself a small guard does that. The guard is a shell that
 * reads the groups from a pipe; the end of the pipe is the end of this process, however it came.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** It only ever reads numbers. `+ N`: there is a group N; `- N`: it is gone. */
const GUARD = `
groups=" "
while read -r word group; do
  case "$word" in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
`;

const live = new Set<number>();
let guard: ChildProcess | null = null;

export function groupStarted(group: number): void {
  if (live.size === 0) process.on('exit', killAll);
  live.add(group);
  if (guard === null) guard = startGuard();
  else guard.stdin?.write(`+ ${group}\n`);
}

export function groupEnded(group: number): void {
  if (!live.delete(group)) return;
  guard?.stdin?.write(`- ${group}\n`);
  if (live.size === 0) process.off('exit', killAll);
}

/** False if the group is empty. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

function killAll(): void {
  for (const group of live) signalGroup(group, 'SIGKILL');
}

/** In a group of its own, so that what ends this one leaves it alone. It keeps no process alive. */
function startGuard(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', GUARD], {
    detached: true,
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = (): void => {
    if (guard === child) guard = null;
  };
  // A machine without a shell has no guard; an end in order still leaves nothing behind.
  child.on('error', gone).on('exit', gone);
  child.stdin.on('error', () => {});
  child.unref();
  (child.stdin as typeof child.stdin & { unref?: () => void }).unref?.();
  for (const group of live) child.stdin.write(`+ ${group}\n`);
  return child;
}
