/** Tasks for `--module` that say when they begin. */
import { stamp } from './stamping.js';

export const stamped = {
  kind: 'millrace.task',
  name: 'stamp',
  /** @param {{ readonly key: string }} input */
  run({ key }) {
    stamp(key);
  },
};

/** Takes ten milliseconds, and says when it is done. */
export const short = {
  kind: 'millrace.task',
  name: 'short',
  /** @param {{ readonly key: string }} input */
  async run({ key }) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
    stamp(key);
  },
};

/** The first to whom it is assigned holds it until it is asked to stop, the next one is done at once. */
export const held = {
  kind: 'millrace.task',
  name: 'hold',
  /**
   * @param {{ readonly key: string }} input
   * @param {{ readonly fence: number, readonly signal: AbortSignal }} context
   */
  async run({ key }, { fence, signal }) {
    stamp(key);
    if (fence > 1) return;
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
  },
};
