/**
 * Where to ask next. Of several addresses one is asked at a time; an answer of `not_leader` names
 * another one, silence moves on to the next, and when a whole round was in vain there is a pause,
 * longer each time. It never gives up, and what it knows of leaders it forgets when they are silent.
 */
import type { Clock } from '../../../kit/index.ts';

const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 3_000;
/** A leader that was silent just now is not asked again because somebody else still believes in it. */
const COLD_MS = 1_000;

export interface LeaderRouteOptions {
  /** HOST:PORT, at least one. */
  readonly addresses: readonly string[];
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
}

export class LeaderRoute {
  readonly #options: LeaderRouteOptions;
  #at = 0;
  #hint: string | null = null;
  #misses = 0;
  #pauses = 0;
  #pauseUntilMs = 0;
  readonly #coldUntilMs: Map<string, number> = new Map();

  constructor(options: LeaderRouteOptions) {
    this.#options = options;
  }

  get address(): string {
    return this.#hint ?? (this.#options.addresses[this.#at] as string);
  }

  /** How long to wait before the address is asked. */
  get waitMs(): number {
    return Math.max(0, this.#pauseUntilMs - this.#nowMs);
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  answered(address: string): void {
    this.#coldUntilMs.delete(address);
    if (address !== this.address) return;
    this.#misses = 0;
    this.#pauses = 0;
    this.#pauseUntilMs = 0;
  }

  /** No answer: refused, timed out or broken off. */
  silent(address: string): void {
    this.#coldUntilMs.set(address, this.#nowMs + COLD_MS);
    this.#miss(address);
  }

  /** Answers whether there is another one to ask at once. */
  notLeader(address: string, leader: string | null): boolean {
    if (leader === null || leader === address || this.#isCold(leader)) {
      this.#miss(address);
      return false;
    }
    this.#hint = leader;
    return true;
  }

  /** They send each other to and fro: time to wait. */
  circling(address: string): void {
    this.#miss(address);
  }

  #isCold(address: string): boolean {
    const untilMs = this.#coldUntilMs.get(address);
    if (untilMs === undefined) return false;
    if (untilMs > this.#nowMs) return true;
    this.#coldUntilMs.delete(address);
    return false;
  }

  /** Several calls fail for the same reason: only the first one moves on. */
  #miss(address: string): void {
    if (address !== this.address) return;
    const { addresses, random } = this.#options;
    if (this.#hint === null) this.#at = (this.#at + 1) % addresses.length;
    this.#hint = null;
    this.#misses += 1;
    if (this.#misses < addresses.length) return;
    const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(this.#pauses, 10));
    this.#pauses += 1;
    // Between half and whole, so that many who lost the same leader do not come back as one.
    this.#pauseUntilMs = this.#nowMs + pauseMs * (0.5 + random() / 2);
  }
}
