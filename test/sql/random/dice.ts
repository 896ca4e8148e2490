/** Chance that can be repeated: the same seed, the same throws. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0;
    // Seeds beside each other begin alike.
    for (let at = 0; at < 4; at += 1) this.#next();
  }

  /** A whole number from 0 to before `count`. */
  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  /** True in `percent` of all cases. */
  chance(percent: number): boolean {
    return this.#next() * 100 < percent;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('There is nothing to choose from.');
    return choice;
  }

  /** So many different ones, or as many as there are. */
  some<T>(choices: readonly T[], count: number): readonly T[] {
    const left = [...choices];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0)
      taken.push(...left.splice(this.below(left.length), 1));
    return taken;
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
