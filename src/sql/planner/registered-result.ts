/** Results of fragments, made of what their workers have registered. */
import { readFile } from 'node:fs/promises';
import { LAYOUT_VERSION } from '../../scheduler/contract/index.ts';
import type { FragmentEnd, HeldFragment, MapPartition } from '../../scheduler/contract/index.ts';
import { NO_METRICS } from '../plan/index.ts';
import type { FragmentMetrics, FragmentResult, InlineResult } from '../plan/index.ts';
import type { RegisteredOutput } from '../shuffle/index.ts';
import type { SpooledResult } from './result-spool.ts';

/** As many bytes as a worker stores with its own results. */
const INLINE_BYTES_MAX: number = 256 * 1_024;

/** Complete only if all partitions are finished, and readers can verify them. */
export function registeredResult(
  fragment: HeldFragment,
  { partitions, address, layout }: RegisteredOutput,
  count: number,
): FragmentEnd {
  const parts: MapPartition[] = [];
  for (let no = 0; no < count; no += 1) {
    const part = partitions.get(no);
    if (part?.isFinalized !== true) return 'unregistered';
    parts.push(part);
  }
  const [first] = parts;
  if (parts.some(({ epoch }) => epoch !== first?.epoch))
    return { fault: 'has partitions of several epochs' };
  if (parts.some(({ bytes, segments }) => bytes > 0 && segments.length === 0))
    return { fault: 'is registered without segments, so readers could not verify it' };
  const bytesOut = sum(parts, ({ bytes }) => bytes);
  if (bytesOut > 0 && address === null)
    return { fault: 'is registered by a worker that others cannot reach' };
  const { taskId: task, fence, nodeId: node } = fragment;
  const epoch = first?.epoch ?? 0;
  const result: FragmentResult = {
    at: { task, fence, node, address, folder: '', index: '', epoch, layout },
    parts: parts.map(({ rows, bytes, segments }) => ({ rows, bytes, segments })),
    inline: null,
    metrics: {
      ...NO_METRICS,
      rowsOut: sum(parts, ({ rows }) => rows),
      bytesOut,
      batches: sum(parts, ({ batches }) => batches),
    },
  };
  return { result: JSON.stringify(result) };
}

/** Null if it is too large to be stored with the task. */
export async function inlineOf({ path, bytes }: SpooledResult): Promise<InlineResult | null> {
  if (bytes > INLINE_BYTES_MAX || bytes === 0) return null;
  return { parquet: (await readFile(path)).toString('base64'), rows: null };
}

/** Rows that are kept by this server, or inline. */
export function spooledPlace(
  { taskId: task, fence, nodeId: node }: HeldFragment,
  spooled: SpooledResult,
  inline: InlineResult | null,
  address: string | null,
): FragmentResult {
  const { bytes, crc32 } = spooled;
  const rows = spooled.rows ?? 0;
  const isHere = inline === null && bytes > 0;
  return {
    at: {
      ...{ task, fence, node, folder: '', index: '' },
      address: isHere ? address : null,
      epoch: fence,
      layout: LAYOUT_VERSION,
    },
    parts: [
      isHere ? { rows, bytes, segments: [[bytes, crc32]] } : { rows, bytes: 0, segments: [] },
    ],
    inline,
    metrics: { ...NO_METRICS, rowsOut: rows, bytesOut: bytes, batches: bytes > 0 ? 1 : 0 },
  };
}

function sum<T>(list: readonly T[], of: (each: T) => number): number {
  return list.reduce((total, each) => total + of(each), 0);
}

/** What registered outputs count for in the metrics of their stage. */
export function registeredFigures(
  outputs: ReadonlyMap<string, RegisteredOutput>,
): ReadonlyMap<string, RegisteredFigures> {
  const figures = new Map<string, RegisteredFigures>();
  for (const [name, { partitions }] of outputs) {
    const all = [...partitions.values()];
    const metrics = {
      ...NO_METRICS,
      rowsOut: sum(all, ({ rows }) => rows),
      bytesOut: sum(all, ({ bytes }) => bytes),
      batches: sum(all, ({ batches }) => batches),
    };
    figures.set(name, { metrics, partitionBytes: all.map(({ bytes }) => bytes) });
  }
  return figures;
}

interface RegisteredFigures {
  readonly metrics: FragmentMetrics;
  readonly partitionBytes: readonly number[];
}
