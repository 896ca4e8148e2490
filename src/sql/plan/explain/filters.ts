/** Runtime filters as text for people. */
import { counted, countText } from './figures.ts';

export interface MeasuredFilter {
  readonly name: string;
  readonly from: number;
  readonly rows: number;
  readonly by: 'none' | 'empty' | 'range' | 'list' | 'bitmap';
  readonly keys: number | null;
}

/** What was decided, and what it has saved. */
export function filterLines({
  filters = [],
  filteredRows = null,
  rowsIn,
}: {
  readonly filters?: readonly MeasuredFilter[];
  readonly filteredRows?: number | null;
  readonly rowsIn: number;
}): readonly string[] {
  const lines = filters.map((filter) => `${filter.name} ${filterText(filter)}`);
  if (filteredRows === null) return lines;
  return [...lines, `${countText(filteredRows)} of ${counted(rowsIn, 'row')} left out by filters`];
}

function filterText({ from, rows, by, keys }: MeasuredFilter): string {
  const source = `stage ${from} (${counted(rows, 'row')})`;
  switch (by) {
    case 'none':
      return `not filtered: the keys of ${source} were not reported`;
    case 'empty':
      return `filtered out: ${source} has no keys`;
    case 'bitmap':
      return `filtered by a bitmap of the keys in ${source}`;
    case 'range':
      return `filtered by the range of keys in ${source}`;
    case 'list':
      return `filtered by ${counted(keys ?? 0, 'key')} of ${source}`;
    default:
      return by satisfies never;
  }
}
