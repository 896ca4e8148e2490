/** Runs one at a time for each key; different keys do not wait for each other. */
export class KeyedLock {
  readonly #tails: Map<string, Promise<void>> = new Map();

  /**
   * Takes all `keys` in one go, before anything is awaited: whoever comes later waits for whoever came before, whatever
   * the order of its keys, so that two of them cannot wait for each other.
   */
  async run<T>(keys: readonly string[], act: () => Promise<T>): Promise<T> {
    const tails = this.#tails;
    const before: Promise<void>[] = [];
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    for (const key of keys) {
      const tail = tails.get(key);
      // A key that is named twice is taken once.
      if (tail !== undefined && tail !== held) before.push(tail);
      tails.set(key, held);
    }
    if (before.length > 0) await Promise.all(before);
    try {
      return await act();
    } finally {
      for (const key of keys) if (tails.get(key) === held) tails.delete(key);
      release();
    }
  }
}
