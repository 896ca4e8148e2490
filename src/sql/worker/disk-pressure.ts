/**
 * Disk pressure: whether this node has room for fragments on its disk. It has none after a fragment failed on a full
 * disk, and when hardly anything is free; the node then reports it and gets no more fragments until there is room
 * again. What a fragment has spilled is removed when it fails, so free space right after a failure is not trusted.
 */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../kit/index.ts';

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface DiskPressureOptions {
  readonly clock: Clock;
  readonly space: () => Promise<DiskSpace>;
  /** Called when pressure begins or ends. */
  readonly onChange: () => void;
}

const LOOK_EVERY_MS = 5_000;
/** How long free space is not trusted after a fragment failed on a full disk. */
const HOLD_MS = 30_000;
const MIB = 2 ** 20;
/** Pressure begins with less free space than this, in bytes or as a share of the disk, whichever is less. */
const LITTLE = { bytes: 256 * MIB, part: 0.02 } as const;
/** Pressure ends with more free space than this. */
const ENOUGH = { bytes: 1_024 * MIB, part: 0.05 } as const;

export class DiskPressure {
  readonly #options: DiskPressureOptions;
  #heldUntilMs: number | null = null;
  #isShort = false;
  #freeBytes = 0;
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(options: DiskPressureOptions) {
    this.#options = options;
    this.#lookLater();
  }

  /** As it was seen last; 0 while it is not known. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  get isShort(): boolean {
    return this.#isShort;
  }

  /** A fragment failed on a full disk. */
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
      this.#freeBytes = freeBytes;
      const limit = this.#isShort ? ENOUGH : LITTLE;
      const isHeld = this.#heldUntilMs !== null && clock.monotonicMs() < this.#heldUntilMs;
      this.#set(isHeld || freeBytes < Math.min(limit.bytes, totalBytes * limit.part));
    } catch {
      // Unknown: the next fragment will find out.
    }
    if (!this.#isClosed) this.#lookLater();
  }

  #set(isShort: boolean): void {
    if (this.#isShort === isShort || this.#isClosed) return;
    this.#isShort = isShort;
    this.#options.onChange();
  }
}

/** A folder that is made only later will lie on the disk of the one above it. */
export async function spaceIn(folder: string): Promise<DiskSpace> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    const above = dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === folder) throw error;
    return spaceIn(above);
  }
}
