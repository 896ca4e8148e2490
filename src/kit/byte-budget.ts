/**
 * How much may be held in memory for callers at the same time. Small and large shares have budgets of their own, so
 * that a few large ones never keep all the small ones out.
 */
export interface ByteBudgetOptions {
  readonly smallMax: number;
  readonly largeMax: number;
  /** A share of more than this is large. */
  readonly largeFrom: number;
}

/** What one caller holds. */
export interface ByteShare {
  /** Changes what is held to `bytes` in all; false when there is no room for it, and then nothing is changed. */
  hold(bytes: number): boolean;
  /** Gives everything back; may be called again. */
  release(): void;
}

/** The memory that a byte of JSON takes while it is received, parsed and used. */
const HELD_PER_BYTE = 4;
/** What each item of a list takes beside its text: promises, look-ups, rows. */
const ITEM_BYTES = 8 * 1024;

/** The memory that a request takes until it is answered, roughly. */
export function requestBytes(textBytes: number, items = 0): number {
  return textBytes * HELD_PER_BYTE + items * ITEM_BYTES;
}

const MIB = 1024 * 1024;

/** The budget of a process with such a heap that takes requests of up to `requestBytesMax`. */
export function budgetFor(heapBytes: number, requestBytesMax: number): ByteBudget {
  const fitting = Math.min(256 * MIB, Math.floor(heapBytes / 4));
  const largeMax = Math.max(fitting, requestBytes(requestBytesMax));
  return new ByteBudget({ largeMax, smallMax: Math.floor(fitting / 4), largeFrom: MIB });
}

export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #small = 0;
  #large = 0;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
  }

  get heldBytes(): number {
    return this.#small + this.#large;
  }

  share(): ByteShare {
    let held = 0;
    return {
      hold: (bytes) => {
        this.#add(-held);
        const isIn = this.#hasRoomFor(bytes);
        if (isIn) held = bytes;
        this.#add(held);
        return isIn;
      },
      release: () => {
        this.#add(-held);
        held = 0;
      },
    };
  }

  /** One that is larger than the whole budget has to be possible, alone. */
  #hasRoomFor(bytes: number): boolean {
    const { smallMax, largeMax, largeFrom } = this.#options;
    if (bytes <= largeFrom) return this.#small + bytes <= smallMax;
    return this.#large === 0 || this.#large + bytes <= largeMax;
  }

  /** A negative number takes back what was added as a positive one. */
  #add(bytes: number): void {
    if (Math.abs(bytes) <= this.#options.largeFrom) this.#small += bytes;
    else this.#large += bytes;
  }
}
