/**
 * The grammar of a fragment's result. Workers write it, and the leader and other workers read it, so nothing else is
 * stored.
 */
import { isObject } from '../../scheduler/core/index.ts';
import type { HeldFragment } from '../../scheduler/contract/index.ts';
import { KEYS_MAX, isBitText } from '../plan/index.ts';
import type { FragmentMetrics, Stage } from '../plan/index.ts';

/** What is wrong, as the end of a sentence; null if it is a result of this fragment. */
export function resultFault(text: string, fragment: HeldFragment, stage: Stage): string | null {
  try {
    checkResult(JSON.parse(text), fragment, stage);
    return null;
  } catch (error) {
    return error instanceof BadResult ? error.message : 'is not JSON';
  }
}

export function partitionCount({ output }: Pick<Stage, 'output'>): number {
  return output.kind === 'hash' || output.kind === 'range' ? output.partitions : 1;
}

class BadResult extends Error {}

function checkResult(given: unknown, fragment: HeldFragment, stage: Stage): void {
  const { at, parts, inline, keys, metrics } = fields(given, 'it');
  checkPlace(fields(at, 'at'), fragment);
  const partitions = list(parts, 'parts');
  const count = partitionCount(stage);
  if (partitions.length !== count)
    refuse(`has ${partitions.length} partitions, but its stage has ${count}`);
  for (const [no, part] of partitions.entries()) checkPartition(part, `parts/${no}`);
  checkInline(inline, stage);
  if (keys !== undefined) checkKeys(list(keys, 'keys'), stage);
  const figures = fields(metrics, 'metrics');
  for (const name of METRICS) checkAmount(figures[name], `metrics/${name}`);
  for (const name of ['filteredRows', 'earlyBytes'])
    if (figures[name] !== undefined) checkCount(figures[name], `metrics/${name}`);
}

const METRICS: readonly (keyof FragmentMetrics)[] = [
  ...(['rowsIn', 'rowsOut', 'bytesOut', 'batches', 'fetchedBytes'] as const),
  ...(['localBytes', 'fetchMs', 'runMs', 'writeMs', 'spilledBytes'] as const),
];

const TEXT_MAX = 4_096;

function checkPlace(at: Fields, { taskId, fence, nodeId }: HeldFragment): void {
  if (at['task'] !== taskId) refuse(`names the task ${shown(at['task'])}`);
  if (at['fence'] !== fence) refuse(`names the fence ${shown(at['fence'])} instead of ${fence}`);
  if (at['node'] !== nodeId) refuse(`names the node ${shown(at['node'])} instead of ${nodeId}`);
  for (const name of ['folder', 'index']) checkText(at[name], `at/${name}`);
  if (at['address'] !== null) checkText(at['address'], 'at/address');
  for (const name of ['epoch', 'layout']) checkCount(at[name], `at/${name}`);
}

function checkPartition(given: unknown, path: string): void {
  const { rows, bytes, segments } = fields(given, path);
  checkCount(rows, `${path}/rows`);
  checkCount(bytes, `${path}/bytes`);
  let sum = 0;
  for (const segment of list(segments, `${path}/segments`)) {
    const pair = list(segment, `${path}/segments`);
    if (pair.length !== 2) refuse(`has a segment that is not a pair at ${path}`);
    for (const each of pair) checkCount(each, `${path}/segments`);
    sum += pair[0] as number;
  }
  if (sum !== bytes) refuse(`has segments of ${sum} bytes at ${path}, instead of ${String(bytes)}`);
}

/** Cells of rows without a file are read as values of plain types. */
function checkInline(given: unknown, { output, fragment }: Stage): void {
  if (given === null) return;
  if (output.kind !== 'result') refuse('has inline rows, but its stage is not the last one');
  const { parquet, rows } = fields(given, 'inline');
  if (parquet !== null && typeof parquet !== 'string')
    refuse('has inline rows that are not base64');
  if (rows === null && parquet !== null) return;
  const width = fragment.columns.length;
  for (const row of list(rows, 'inline/rows')) {
    const cells = list(row, 'inline/rows');
    if (cells.length !== width)
      refuse(`has inline rows of ${cells.length} values, but its stage has ${width} columns`);
    if (parquet === null && cells.some((cell) => typeof cell === 'object' && cell !== null))
      refuse('has inline rows with values that are not plain, and no file');
  }
}

/** They become literals in the fragments of other tasks. */
function checkKeys(summaries: readonly unknown[], { fragment }: Stage): void {
  if (summaries.length > fragment.columns.length) refuse('has more keys than columns');
  for (const [no, summary] of summaries.entries()) {
    if (summary === null) continue;
    const { hasNull, min, max, values, bits } = fields(summary, `keys/${no}`);
    if (typeof hasNull !== 'boolean') refuse(`has no boolean at keys/${no}/hasNull`);
    if ((min === null) !== (max === null)) refuse(`has one bound only at keys/${no}`);
    if (bits !== undefined && !(typeof bits === 'string' && isBitText(bits)))
      refuse(`has no bitmap at keys/${no}/bits`);
    const listed = values === null ? [] : list(values, `keys/${no}/values`);
    if (listed.length > KEYS_MAX) refuse(`has more than ${KEYS_MAX} keys at keys/${no}`);
    for (const each of [...(min === null ? [] : [min, max]), ...listed]) {
      checkText(each, `keys/${no}`);
      if (String(each).includes('\0')) refuse(`has a NUL character at keys/${no}`);
    }
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown, path: string): Fields {
  if (isObject(value)) return value;
  return refuse(`has no object at ${path}`);
}

function list(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : refuse(`has no list at ${path}`);
}

function checkText(value: unknown, path: string): void {
  if (typeof value !== 'string' || value.length > TEXT_MAX) refuse(`has no short text at ${path}`);
}

function checkCount(value: unknown, path: string): void {
  if (!Number.isSafeInteger(value) || Number(value) < 0)
    refuse(`has no non-negative integer at ${path}`);
}

function checkAmount(value: unknown, path: string): void {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    refuse(`has no non-negative number at ${path}`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 80);
}

function refuse(what: string): never {
  throw new BadResult(what);
}
