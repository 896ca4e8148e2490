/** A line of the view: pieces with a style, cut to the width of the terminal. */
import { plain } from '../table.ts';
import { fitted, textWidth } from './text-width.ts';

export type Style = 'good' | 'bad' | 'busy' | 'wait' | 'dim' | 'bold' | 'plain';

export interface Piece {
  readonly text: string;
  readonly style: Style;
}

const CODES: Readonly<Record<Style, string>> = {
  good: '32',
  bad: '31',
  busy: '36',
  wait: '33',
  dim: '2',
  bold: '1',
  plain: '',
};

export function piece(text: string, style: Style = 'plain'): Piece {
  return { text: plain(text), style };
}

/** Two columns between pieces; empty ones are left out. */
export function line(
  pieces: readonly Piece[],
  columns: number,
  hasColour: boolean,
  mark: string,
): string {
  let text = '';
  let used = 0;
  for (const each of pieces) {
    if (each.text === '') continue;
    const gap = used === 0 ? '' : '  ';
    const room = columns - used - gap.length;
    const fits = fitted(each.text, room, mark);
    if (fits === '') break;
    text += gap + styled(fits, each.style, hasColour);
    used += gap.length + textWidth(fits);
    if (fits !== each.text) break;
  }
  return text.trimEnd();
}

function styled(text: string, style: Style, hasColour: boolean): string {
  const code = CODES[style];
  return hasColour && code !== '' ? `\u001B[${code}m${text}\u001B[0m` : text;
}
