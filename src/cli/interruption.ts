import { exit } from './exit.ts';

/** Resolves when the signal aborts, or at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * A closed terminal ends the command and removes what was made for it. Without a terminal nothing is changed:
 * `nohup` has asked for just that. Returns a function that undoes this.
 */
export function endWithTerminal(isWatched: boolean): () => void {
  if (!isWatched) return () => {};
  const end = (): never => process.exit(exit.interrupted);
  process.once('SIGHUP', end);
  return () => process.off('SIGHUP', end);
}

/**
 * From now on an exit at once is an end by SIGINT, to a shell the same as the code 130, and nothing of the process runs any more.
 * Returns a function that undoes this.
 */
export function endBySignal(): () => void {
  const end = (): void => {
    process.removeAllListeners('SIGINT');
    process.kill(process.pid, 'SIGINT');
  };
  process.once('exit', end);
  return () => process.off('exit', end);
}
