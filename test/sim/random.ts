/** Dice with a seed. Every part of the simulator forks its own, so that one more throw here does
 * not change the luck of everybody else. */
import { mix } from '../../src/scheduler/core/index.ts';

export class Random {
  readonly #seed: number;
  #throws = 0;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
  }

  /** Independent dice: the same name always gives the same ones. */
  fork(name: string): Random {
    let hash = this.#seed;
    for (let at = 0; at < name.length; at += 1) hash = mix(hash, name.charCodeAt(at));
    return new Random(hash);
  }

  /** In [0, 1). */
  fraction(): number {
    this.#throws += 1;
    return mix(this.#seed, this.#throws) / 0x1_0000_0000;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** A real number in [from, to). */
  between(from: number, to: number): number {
    return from + this.fraction() * (to - from);
  }

  /** A whole number in [from, to]. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  pick<T>(from: readonly T[]): T {
    return from[this.whole(0, from.length - 1)] as T;
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((item) => [this.fraction(), item] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, item]) => item);
  }

  /** Mostly short, now and then long: what delays look like. */
  delayMs(usualMs: number, worstMs: number): number {
    if (this.chance(0.97)) return this.between(0.1, usualMs);
    return this.between(usualMs, Math.max(usualMs, worstMs));
  }

  id(prefix: string): string {
    const digits = (): string => mix(this.#seed, (this.#throws += 1)).toString(36);
    return `${prefix}-${digits()}${digits()}`;
  }
}
