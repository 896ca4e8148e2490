/**
 * Whether this node has room for fragments on its disk. It has none after one has met a full disk, and when
 * hardly anything is free; then it says so and is given no more, until there is room again. What a fragment has
 * spilled goes with its failure, so a node that looks free right after one is not believed at once.
 */
import { statfs } from 'node:fs/promises';
import type { Clock } from '../../kit/index.ts';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface DiskPressureOptions {
  readonly clock: Clock;
  readonly space: () => Promise<DiskSpace>;
  /** It has become short of room, or has room again. */
  readonly onChange: () => void;
}

const LOOK_EVERY_MS = 5_000;
/** So long after a fragment has met a full disk nothing is believed. */
const HOLD_MS = 30_000;
const MIB = 2 ** 20;
/** Short of room with less than this; below a part of the whole, where that is less. */
const LITTLE = { bytes: 256 * MIB, part: 0.02 } as const;
/** And again with room only above this. */
const ENOUGH = { bytes: 1_024 * MIB, part: 0.05 } as const;

export class DiskPressure {
  readonly #options: DiskPressureOptions;
  #heldUntilMs: number | null = null;
  #isShort = false;
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(options: DiskPressureOptions) {
    this.#options = options;
    this.#lookLater();
  }

  get isShort(): boolean {
    return this.#isShort;
  }

  /** A fragment has met a full disk. */
  met(): void {
    this.#heldUntilMs = this.#options.clock.monotonicMs() + HOLD_MS;
    this.#set(true);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #lookLater(): void {
    this.#cancel = this.#options.clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { clock, space } = this.#options;
    try {
      const { freeBytes, totalBytes } = await space();
      const limit = this.#isShort ? ENOUGH : LITTLE;
      const isHeld = this.#heldUntilMs !== null && clock.monotonicMs() < this.#heldUntilMs;
      this.#set(isHeld || freeBytes < Math.min(limit.bytes, totalBytes * limit.part));
    } catch {
      // What cannot be asked cannot be told: the next fragment finds out.
    }
    if (!this.#isClosed) this.#lookLater();
  }

  #set(isShort: boolean): void {
    if (this.#isShort === isShort || this.#isClosed) return;
    this.#isShort = isShort;
    this.#options.onChange();
  }
}

export async function spaceIn(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
