/** Deterministic mixing: jitter in the core, everything in the simulator. Never security. */

/** A well-spread 32-bit hash of some numbers. */
export function mix(...values: readonly number[]): number {
  let hash = 0x9e3779b9;
  for (const value of values) {
    hash = Math.imul(hash ^ (value >>> 0), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13) ^ Math.floor(value / 0x1_0000_0000), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return hash >>> 0;
}

/** The same numbers always give the same fraction in [0, 1). */
export function fraction(...values: readonly number[]): number {
  return mix(...values) / 0x1_0000_0000;
}
