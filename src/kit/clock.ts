/** Time as a port, so that a simulator can own it. Readings are monotonic: they order and measure, they are no dates. */
export interface Clock {
  monotonicMs(): number;
  /** Calls `fn` once after `ms`; the returned function cancels it and may be called at any time. */
  after(ms: number, fn: () => void): () => void;
}

/** Node fires a longer timer at once (with a warning), so long waits are taken in strides of this length. */
const strideMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after(ms, fn) {
    let remainingMs = ms;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const waitMs = Math.min(remainingMs, strideMs);
      remainingMs -= waitMs;
      timer = setTimeout(remainingMs > 0 ? arm : fn, waitMs);
    };
    arm();
    return () => clearTimeout(timer);
  },
};
