/** How the scans of a stage were filtered while the query ran, in words. */
import type { StageShape } from '../../../src/scheduler/contract/index.ts';

/** Null if no scan was filtered. `count` writes figures for people. */
export function filterWords(
  stage: Pick<StageShape, 'filters' | 'filteredRows'> | null,
  count: (value: number) => string,
): string | null {
  const used = (stage?.filters ?? []).filter(({ by }) => by !== 'none');
  if (used.length === 0) return null;
  const each = used.map(({ name, from, by, keys }) => {
    if (by === 'empty') return `${name} by stage ${from}, which has no keys`;
    if (by === 'bitmap') return `${name} by a bitmap of the keys in stage ${from}`;
    if (by === 'range') return `${name} by the range of keys in stage ${from}`;
    return `${name} by ${keys === 1 ? '1 key' : `${count(keys ?? 0)} keys`} of stage ${from}`;
  });
  const { filteredRows = null } = stage ?? {};
  const saved = filteredRows === null ? '' : `; ${count(filteredRows)} rows left out`;
  return `Adapted: filtered ${each.join(', ')}${saved}.`;
}
