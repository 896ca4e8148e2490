import { expect, test } from 'vitest';
import { kMeans } from './k-means.ts';

const OPTIONS = { clusters: 2, iterations: 10, seed: 3, isSpherical: false };
const vectors = (...rows: readonly (readonly number[])[]): Float32Array[] =>
  rows.map((row) => Float32Array.from(row));
const texts = (centroids: readonly Float32Array[]): string[] =>
  centroids.map((each) => each.join()).toSorted();

test('centroids are the means of what is near to them', async () => {
  const points = vectors([0, 0], [0, 2], [10, 10], [10, 12], [11, 11]);
  const found = await kMeans(points, OPTIONS);
  expect(texts(found)).toEqual(['0,1', `${Math.fround(31 / 3)},11`]);
  expect(texts(await kMeans(points, OPTIONS))).toEqual(texts(found));
});

test('cosine distance ignores the length of vectors', async () => {
  const points = vectors([100, 0], [1, 0], [0, 1], [0, 100], [0, 0.5]);
  expect(texts(await kMeans(points, { ...OPTIONS, isSpherical: true }))).toEqual(['0,1', '1,0']);
});

test('there are no more centroids than distinct vectors, and zero vectors count', async () => {
  expect(await kMeans([], OPTIONS)).toEqual([]);
  expect(await kMeans(vectors([1], [1], [1]), OPTIONS)).toHaveLength(1);
  const zeros = await kMeans(vectors([0, 0], [0, 0], [1, 0]), { ...OPTIONS, isSpherical: true });
  expect(texts(zeros)).toEqual(['0,0', '1,0']);
});

test('the event loop stays responsive, and an abort ends it', async () => {
  const points = Array.from({ length: 3_000 }, (_, at) =>
    Float32Array.from({ length: 64 }, (_each, place) => Math.sin(at * 64 + place)),
  );
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  const options = { ...OPTIONS, clusters: 500, signal: stop.signal };
  await expect(kMeans(points, options)).rejects.toThrow('aborted');
});
