/** Runs one at a time for each key; different keys do not wait for each other. */
export class KeyedLock {
  readonly #tails: Map<string, Promise<void>> = new Map();

  /** Takes all `keys`, in one order for all callers, so that two of them cannot wait for each other. */
  async run<T>(keys: Iterable<string>, act: () => Promise<T>): Promise<T> {
    const wanted = [...new Set(keys)].toSorted();
    const before = wanted.flatMap((key) => this.#tails.get(key) ?? []);
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Taken in one go, before anything is awaited: the queue of every key has the same order.
    for (const key of wanted) this.#tails.set(key, held);
    await Promise.all(before);
    try {
      return await act();
    } finally {
      for (const key of wanted) if (this.#tails.get(key) === held) this.#tails.delete(key);
      release();
    }
  }
}
