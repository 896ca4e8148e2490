/**
 * How every long-lived thing starts and stops. Both calls may come in any order and any number of times: they take
 * effect one after the other, so the last one asked for decides, and a thing that was stopped can be started again.
 */
export interface StartStop {
  readonly running: boolean;
  /** Resolves when running. A failed start rejects and leaves the thing stopped. */
  start(): Promise<void>;
  /** Resolves when stopped. */
  stop(): Promise<void>;
}

export interface StartStopHooks {
  /** `signal` aborts as soon as a stop is requested, even while this hook is still running. */
  start(signal: AbortSignal): Promise<void> | void;
  /** Called once for each start that succeeded. When it rejects the thing counts as stopped all the same. */
  stop(): Promise<void> | void;
}

export function startStop(hooks: StartStopHooks): StartStop {
  let running = false;
  let lifetime = new AbortController();
  let lastTurn: Promise<void> = Promise.resolve();

  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const turn = lastTurn.then(step);
    // The caller gets the rejection; the next turn must run all the same.
    lastTurn = turn.catch(() => {});
    return turn;
  };

  return {
    get running() {
      return running;
    },
    start() {
      if (lifetime.signal.aborted) lifetime = new AbortController();
      const { signal } = lifetime;
      return inTurn(async () => {
        if (running) return;
        await hooks.start(signal);
        running = true;
      });
    },
    stop() {
      lifetime.abort();
      return inTurn(async () => {
        if (!running) return;
        running = false;
        await hooks.stop();
      });
    },
  };
}
