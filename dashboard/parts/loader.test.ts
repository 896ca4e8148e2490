import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Loader } from './loader.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const STEP_MS = 100;

/** Answers every call after so long, by the virtual clock. */
class SlowServer {
  /** When it was asked, in steps of 100 ms. */
  readonly calls: number[] = [];
  readonly #tookMs: number;
  readonly #isAway: boolean;
  readonly #beganMs = performance.now();
  #pending: { readonly dueMs: number; readonly end: () => void } | null = null;

  constructor(tookMs: number, isAway = false) {
    this.#tookMs = tookMs;
    this.#isAway = isAway;
  }

  get #nowMs(): number {
    return performance.now() - this.#beganMs;
  }

  readonly load = (): Promise<void> => {
    this.calls.push(Math.round(this.#nowMs / STEP_MS) * STEP_MS);
    const dueMs = this.#nowMs + this.#tookMs;
    return new Promise((resolve, reject) => {
      this.#pending = { dueMs, end: this.#isAway ? () => reject(new Error('away')) : resolve };
    });
  };

  /** Time passes, and something happens every step. */
  async pass(ms: number, happens: () => void = () => {}): Promise<void> {
    for (const end = this.#nowMs + ms; this.#nowMs < end;) {
      await vi.advanceTimersByTimeAsync(STEP_MS);
      if (this.#pending !== null && this.#pending.dueMs <= this.#nowMs) {
        this.#pending.end();
        this.#pending = null;
      }
      happens();
    }
  }
}

test('what takes long is read seldom, whatever happens meanwhile', async () => {
  const server = new SlowServer(2_000);
  const loader = new Loader(() => ({}), server.load);
  loader.now();
  await server.pass(29_000, () => loader.want(400));
  expect(server.calls).toEqual([0, 10_000, 20_000]);
  loader.stop();
});

test('what is quick is read as often as it changes, up to its limit', async () => {
  const server = new SlowServer(0);
  const loader = new Loader(() => ({}), server.load);
  loader.now();
  await server.pass(1_900, () => loader.want(500));
  expect(server.calls).toEqual([0, 500, 1_000, 1_500]);
  loader.stop();
});

test('an action is followed by a read at once, also while one is under way', async () => {
  const server = new SlowServer(2_000);
  const loader = new Loader(() => ({}), server.load);
  loader.now();
  await server.pass(500);
  loader.now();
  await server.pass(5_000);
  expect(server.calls).toEqual([0, 2_000]);
  loader.stop();
});

test('a server that did not answer is asked again soon, and one that is not needed never', async () => {
  const server = new SlowServer(5_000, true);
  const loader = new Loader(() => ({ pollMs: 1_000 }), server.load);
  loader.now();
  await server.pass(5_500);
  expect(server.calls).toEqual([0, 5_000]);
  loader.stop();
  await server.pass(20_000);
  expect(server.calls).toHaveLength(2);
});
