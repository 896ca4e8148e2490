import { exit } from './exit.ts';

/** Resolves when the signal aborts, or at once if it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * A terminal that is closed ends what it shows, and what was made for it goes too. Where nobody looks,
 * nothing is changed: `nohup` has asked for just that. Answers what ends this.
 */
export function endWithTerminal(isWatched: boolean): () => void {
  if (!isWatched) return () => {};
  const end = (): never => process.exit(exit.interrupted);
  process.once('SIGHUP', end);
  return () => process.off('SIGHUP', end);
}
