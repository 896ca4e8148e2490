/**
 * A PIVOT whose columns depend on the data is several statements to DuckDB, which returns no tree for them. With a
 * list of values it is one statement, with an otherwise equal tree. So a list is inserted for the check only: ` IN
 * (1)` cannot hide a call, wherever it ends up, since it contains no quote and no comment.
 */
import { tokensOf } from './tokenizer.ts';

const PIVOT: ReadonlySet<string> = new Set(['pivot', 'pivot_wider']);
/** Keywords that end the list after ON. */
const AFTER: ReadonlySet<string> = new Set([
  ...['using', 'group', 'order', 'limit', 'offset', 'union', 'intersect', 'except', 'where'],
]);
const LIST = ' IN (1)';

interface Open {
  /** The bracket depth of the PIVOT. */
  readonly depth: number;
  isInList: boolean;
  /** Whether the current entry has a list of values. */
  hasIn: boolean;
  /** The end of the current entry, as far as known. */
  end: number;
}

/** Returns the statement with a list for each PIVOT that has none. */
export function withPivotLists(sql: string): string {
  const places: number[] = [];
  const open: Open[] = [];
  let depth = 0;
  const endEntry = (pivot: Open): void => {
    if (pivot.isInList && !pivot.hasIn) places.push(pivot.end);
    pivot.hasIn = false;
  };
  const endList = (pivot: Open): void => {
    endEntry(pivot);
    pivot.isInList = false;
  };
  for (const { kind, from, to } of tokensOf(sql)) {
    const text = sql.slice(from, to).toLowerCase();
    if (kind === 'other' && text === ')') {
      for (let last = open.at(-1); last !== undefined && last.depth >= depth; last = open.at(-1)) {
        endList(last);
        open.pop();
      }
      depth -= 1;
    }
    const pivot = open.at(-1);
    if (pivot?.depth === depth) {
      if (kind === 'word' && AFTER.has(text)) endList(pivot);
      else if (kind === 'word' && text === 'in') pivot.hasIn = true;
      else if (kind === 'other' && text === ',') endEntry(pivot);
      else if (kind === 'word' && text === 'on' && !pivot.isInList) pivot.isInList = true;
      pivot.end = to;
    }
    if (kind === 'word' && PIVOT.has(text))
      open.push({ depth, isInList: false, hasIn: false, end: to });
    if (kind === 'other' && '([{'.includes(text)) depth += 1;
    if (kind === 'other' && ']}'.includes(text)) depth -= 1;
  }
  for (const pivot of open.toReversed()) endList(pivot);
  let written = '';
  let at = 0;
  for (const place of places.toSorted((a, b) => a - b)) {
    written += sql.slice(at, place) + LIST;
    at = place;
  }
  return written + sql.slice(at);
}
