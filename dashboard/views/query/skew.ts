/** Whether the output of a stage was spread evenly over its partitions, in words. */
export interface Skew {
  readonly partition: number;
  readonly isSkewed: boolean;
  readonly words: string;
}

const SKEWED = 2;

/** `sizes` has a number for each partition and `unit` says of what. Null where there is nothing to compare. */
export function skewOf(sizes: readonly number[], unit: 'rows' | 'bytes'): Skew | null {
  if (sizes.length < 2) return null;
  const total = sizes.reduce((sum, each) => sum + each, 0);
  if (total === 0) return null;
  const max = Math.max(...sizes);
  const partition = sizes.indexOf(max);
  const ratio = max / medianOf(sizes);
  // With two partitions the median lies between them: the share says more.
  const isSkewed = ratio >= SKEWED || (sizes.length === 2 && max / total > 0.7);
  const share = `partition ${partition} holds ${percentOf(max / total)} of the ${unit}`;
  const fair = percentOf(1 / sizes.length);
  const words = isSkewed
    ? `Skewed: ${share}; an even share is ${fair}.`
    : `Even: the largest, ${share}; an even share is ${fair}.`;
  return { partition, isSkewed, words };
}

const percentOf = (part: number): string => {
  const percent = part * 100;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
};

function medianOf(sizes: readonly number[]): number {
  const sorted = sizes.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
