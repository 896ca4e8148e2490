import type { ChildProcess } from 'node:child_process';
import type { Clock } from './clock.ts';

/** Asks a child to end, and kills it when it has not within the time. Settles when it is gone. */
export async function endProcess(
  child: ChildProcess,
  withinMs: number,
  clock: Clock,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => {
    child.once('exit', resolve).once('error', resolve);
  });
  child.kill('SIGTERM');
  const cancel = clock.after(withinMs, () => child.kill('SIGKILL'));
  await gone;
  cancel();
}
