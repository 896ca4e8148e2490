/**
 * Where to ask next. Of several addresses one is asked at a time; an answer of `not_leader` names
 * another one, silence moves on to the next, and after a whole round in vain it backs off. It never gives up, and what it knows of leaders it forgets when they are silent.
 */
import { Backoff, type BackoffRange, type Clock } from '../../../kit/index.ts';

/** After a round in which no address had a leader to offer. */
const BACKOFF: BackoffRange = { firstMs: 100, maxMs: 3_000 };
/** A leader that was silent just now is not tried again because another node still believes in it. */
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
  readonly #backoff: Backoff;
  #backoffUntilMs = 0;
  readonly #coldUntilMs: Map<string, number> = new Map();

  constructor(options: LeaderRouteOptions) {
    this.#options = options;
    this.#backoff = new Backoff(BACKOFF, options.random);
  }

  get address(): string {
    return this.#hint ?? (this.#options.addresses[this.#at] as string);
  }

  /** How long to wait before the address is asked. */
  get waitMs(): number {
    return Math.max(0, this.#backoffUntilMs - this.#nowMs);
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  answered(address: string): void {
    this.#coldUntilMs.delete(address);
    if (address !== this.address) return;
    this.#misses = 0;
    this.#backoff.reset();
    this.#backoffUntilMs = 0;
  }

  /** No answer: refused, timed out or broken off. */
  silent(address: string): void {
    this.#coldUntilMs.set(address, this.#nowMs + COLD_MS);
    this.#miss(address);
  }

  /** Returns whether there is another one to ask at once. */
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
    const { addresses } = this.#options;
    if (this.#hint === null) this.#at = (this.#at + 1) % addresses.length;
    this.#hint = null;
    this.#misses += 1;
    if (this.#misses < addresses.length) return;
    this.#backoffUntilMs = this.#nowMs + this.#backoff.nextMs();
  }
}
