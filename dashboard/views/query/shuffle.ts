/** What each task of a stage has written for each partition, from the results of the query's tasks. */
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';

export interface ShuffleCell {
  readonly rows: number;
  readonly bytes: number;
}

export interface Producer {
  readonly task: string;
  readonly node: string | null;
  readonly cells: readonly ShuffleCell[];
}

/** Those of the stage's tasks that have ended, in order. */
export function producersOf(stage: number, job: JobShape | null): readonly Producer[] {
  return (job?.tasks ?? [])
    .filter(({ id }) => id.startsWith(`s${stage}.`))
    .flatMap(({ id, node, result }) => {
      const cells = cellsOf(result);
      return cells === null ? [] : [{ task: id, node, cells }];
    });
}

function cellsOf(result: Json): readonly ShuffleCell[] | null {
  const parts = fieldOf(result, 'parts');
  if (!Array.isArray(parts)) return null;
  return (parts as readonly Json[]).map((part) => ({
    rows: numberOf(fieldOf(part, 'rows')),
    bytes: numberOf(fieldOf(part, 'bytes')),
  }));
}

const fieldOf = (value: Json, name: string): Json =>
  value === null || typeof value !== 'object' || Array.isArray(value)
    ? null
    : ((value as Readonly<Record<string, Json>>)[name] ?? null);

const numberOf = (value: Json): number => (typeof value === 'number' ? value : 0);

/** Of each partition, over all producers. */
export function rowsPerPartition(producers: readonly Producer[]): readonly number[] {
  const sums: number[] = [];
  for (const { cells } of producers)
    for (const [at, { rows }] of cells.entries()) sums[at] = (sums[at] ?? 0) + rows;
  return sums;
}
