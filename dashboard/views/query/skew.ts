/** Whether the rows of a stage were spread evenly, in words. */
export interface Skew {
  readonly ratio: number;
  readonly partition: number;
  readonly isSkewed: boolean;
  readonly words: string;
}

const SKEWED = 2;

/** Null where there is nothing to compare. */
export function skewOf(
  partitionBytes: readonly number[],
  shown: (bytes: number) => string,
): Skew | null {
  if (partitionBytes.length < 2) return null;
  const sorted = partitionBytes.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const median =
    sorted.length % 2 === 1
      ? (sorted[middle] ?? 0)
      : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  const max = sorted.at(-1) ?? 0;
  const total = partitionBytes.reduce((sum, each) => sum + each, 0);
  if (total === 0) return null;
  const partition = partitionBytes.indexOf(max);
  const ratio = median === 0 ? Infinity : max / median;
  // With two partitions the median lies between them: the share says more.
  const isSkewed = ratio >= SKEWED || (partitionBytes.length === 2 && max / total > 0.7);
  const words = isSkewed
    ? `Skewed: partition ${partition} holds ${shown(max)} of ${shown(total)}${Number.isFinite(ratio) ? `, ${ratio.toFixed(1)} × the median` : ''}.`
    : `Even: the largest partition has ${ratio.toFixed(1)} × the median.`;
  return { ratio, partition, isSkewed, words };
}
