/** Rows as records for people: a line for each value, which may be as long as it is. */
import type { JsonRow, ResultColumn } from '../../client/index.ts';
import { padded, textWidth } from '../view/text-width.ts';
import { cellText, type Grid, type GridOptions, visible } from './grid.ts';

const RULE_COLUMNS = 40;

export function recordsOf(
  columns: readonly ResultColumn[],
  rows: readonly JsonRow[],
  { columns: room, isUnicode, hasColour }: GridOptions,
): Grid {
  const names = columns.map(({ name }) => visible(name));
  const width = Math.max(0, ...names.map(textWidth));
  const [dash, bar] = isUnicode ? ['─', '│'] : ['-', '|'];
  const dim = (text: string): string => (hasColour ? `\u001B[2m${text}\u001B[0m` : text);
  const lines = rows.flatMap((row, at) => {
    const title = `${dash}[ RECORD ${at + 1} ]`;
    const rule = Math.max(0, Math.min(room ?? RULE_COLUMNS, RULE_COLUMNS) - textWidth(title));
    return [
      dim(title + dash.repeat(rule)),
      ...names.map((name, place) => {
        const value = row[place] ?? null;
        const text = cellText(value);
        return `${padded(name, width)} ${dim(bar)} ${value === null ? dim(text) : text}`;
      }),
    ];
  });
  return { lines, hidden: 0 };
}
