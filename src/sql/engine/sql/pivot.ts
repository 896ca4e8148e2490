/**
 * A PIVOT whose columns depend on the data is several statements to DuckDB, which writes no tree for them. With a list
 * of values it is one, and all else in the tree is the same. So a list is put in, for the tree alone: nothing
 * that a statement calls can be hidden by ` IN (1)`, wherever it lands, since it has no quote and no mark of a comment.
 */
import { tokensOf } from './tokens.ts';

const PIVOT: ReadonlySet<string> = new Set(['pivot', 'pivot_wider']);
/** What ends the list after ON. */
const AFTER: ReadonlySet<string> = new Set([
  ...['using', 'group', 'order', 'limit', 'offset', 'union', 'intersect', 'except', 'where'],
]);
const LIST = ' IN (1)';

interface Open {
  /** Of the PIVOT: brackets around it. */
  readonly depth: number;
  isInList: boolean;
  /** The entry of the list has values of its own. */
  hasIn: boolean;
  /** Where the entry ends, as far as is known. */
  end: number;
}

/** The statement with a list for each PIVOT that has none. */
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
