/**
 * K-means with k-means++ seeding. The same vectors and seed give the same centroids. It may take minutes, so it lets
 * other work of the process run in between.
 */
import { setImmediate } from 'node:timers/promises';

export interface KMeansOptions {
  readonly clusters: number;
  readonly iterations: number;
  readonly seed: number;
  /** Centroids have length 1, for distances by angle. */
  readonly isSpherical: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Returns at most `clusters` centroids; fewer if there are fewer different vectors. */
export async function kMeans(
  vectors: readonly Float32Array[],
  options: KMeansOptions,
): Promise<Float32Array[]> {
  const turns = new Turns(options.signal);
  const points = options.isSpherical ? vectors.map(unit) : vectors;
  let centroids = await seeded(points, options, turns);
  const nearest = new Int32Array(points.length).fill(-1);
  for (let round = 0; round < options.iterations; round += 1) {
    if (!(await assign(points, centroids, nearest, turns))) break;
    centroids = means(points, nearest, centroids, options.isSpherical);
  }
  return centroids;
}

/** The first at random, each other one with a probability that grows with its distance from those chosen. */
async function seeded(
  points: readonly Float32Array[],
  { clusters, seed }: KMeansOptions,
  turns: Turns,
): Promise<Float32Array[]> {
  const random = randomOf(seed);
  const first = points[Math.floor(random() * points.length)];
  if (first === undefined) return [];
  const chosen = [first];
  const gaps = points.map((point) => squared(point, first));
  while (chosen.length < clusters) {
    const sum = gaps.reduce((total, gap) => total + gap, 0);
    if (!(sum > 0)) break;
    let left = random() * sum;
    let at = gaps.findIndex((gap) => (left -= gap) < 0);
    if (at < 0) at = gaps.findLastIndex((gap) => gap > 0);
    const next = points[at] as Float32Array;
    chosen.push(next);
    for (const [place, point] of points.entries()) {
      gaps[place] = Math.min(gaps[place] as number, squared(point, next));
      if (place % PER_LOOK === 0) await turns.yield();
    }
  }
  return chosen;
}

/** Returns whether any point has changed its cluster. */
async function assign(
  points: readonly Float32Array[],
  centroids: readonly Float32Array[],
  nearest: Int32Array,
  turns: Turns,
): Promise<boolean> {
  let hasChanged = false;
  for (const [at, point] of points.entries()) {
    await turns.yield();
    let best = 0;
    let gap = Infinity;
    for (const [cluster, centroid] of centroids.entries()) {
      const each = squared(point, centroid);
      if (each >= gap) continue;
      gap = each;
      best = cluster;
    }
    if (nearest[at] === best) continue;
    nearest[at] = best;
    hasChanged = true;
  }
  return hasChanged;
}

const TURN_MS = 20;
/** Points that are compared with one vector before the time is looked at. */
const PER_LOOK = 1_000;

/** Lets others run after each turn. */
class Turns {
  readonly #signal: AbortSignal | undefined;
  #sinceMs = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  async yield(): Promise<void> {
    if (performance.now() - this.#sinceMs < TURN_MS) return;
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#sinceMs = performance.now();
  }
}

/** An empty cluster keeps its centroid. */
function means(
  points: readonly Float32Array[],
  nearest: Int32Array,
  before: readonly Float32Array[],
  isSpherical: boolean,
): Float32Array[] {
  const sums = before.map(({ length }) => new Float64Array(length));
  const counts = new Float64Array(before.length);
  for (const [at, point] of points.entries()) {
    const cluster = nearest[at] as number;
    const sum = sums[cluster] as Float64Array;
    for (let place = 0; place < point.length; place += 1)
      sum[place] = (sum[place] as number) + (point[place] as number);
    counts[cluster] = (counts[cluster] as number) + 1;
  }
  return before.map((centroid, cluster) => {
    const count = counts[cluster] as number;
    if (count === 0) return centroid;
    const mean = Float32Array.from(sums[cluster] as Float64Array, (each) => each / count);
    return isSpherical ? unit(mean) : mean;
  });
}

function squared(left: Float32Array, right: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < left.length; at += 1) {
    const gap = (left[at] as number) - (right[at] as number);
    sum += gap * gap;
  }
  return sum;
}

/** A vector of zeros stays one. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, each) => sum + each * each, 0));
  return length > 0 ? vector.map((each) => each / length) : vector;
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
