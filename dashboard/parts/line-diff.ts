/** The difference of two texts, line by line. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Beyond this many pairs of lines what differs is shown as a whole, without looking for equal lines in it. */
const PAIRS_MAX = 1_000_000;

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shorter && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const lines = (kind: DiffLine['kind'], texts: readonly string[]): readonly DiffLine[] =>
    texts.map((text) => ({ kind, text }));
  return [
    ...lines('same', old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...lines('same', old.slice(old.length - tail)),
  ];
}

/** By the longest sequence of lines that both have. */
function middle(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  const [rows, columns] = [old.length, fresh.length];
  const shared = rows * columns <= PAIRS_MAX ? sharedLines(old, fresh) : null;
  const at = (row: number, column: number): number => shared?.[row * (columns + 1) + column] ?? 0;
  const found: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows || column < columns) {
    const [text, next] = [old[row], fresh[column]];
    if (shared !== null && text !== undefined && text === next) {
      found.push({ kind: 'same', text });
      [row, column] = [row + 1, column + 1];
    } else if (
      text !== undefined &&
      (next === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      found.push({ kind: 'removed', text });
      row += 1;
    } else {
      found.push({ kind: 'added', text: next ?? '' });
      column += 1;
    }
  }
  return found;
}

/** How many lines the rests of both from each pair of lines on have in shared, row by row. */
function sharedLines(old: readonly string[], fresh: readonly string[]): Uint32Array {
  const width = fresh.length + 1;
  const shared = new Uint32Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = fresh.length - 1; column >= 0; column -= 1) {
      const here = row * width + column;
      const [below = 0, beside = 0] = [shared[here + width], shared[here + 1]];
      shared[here] =
        old[row] === fresh[column] ? (shared[here + width + 1] ?? 0) + 1 : Math.max(below, beside);
    }
  }
  return shared;
}

export type DiffPart = DiffLine | { readonly kind: 'left out'; readonly count: number };

/** Long runs of equal lines are left out, but for a few around each change. */
export function folded(lines: readonly DiffLine[], around = 2): readonly DiffPart[] {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== 'same'),
  );
  const parts: DiffPart[] = [];
  let hidden = 0;
  const flush = (): void => {
    if (hidden > 0) parts.push({ kind: 'left out', count: hidden });
    hidden = 0;
  };
  for (const [at, line] of lines.entries()) {
    if (isNear[at] !== true) {
      hidden += 1;
      continue;
    }
    flush();
    parts.push(line);
  }
  flush();
  return parts;
}
