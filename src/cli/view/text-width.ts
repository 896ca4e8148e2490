/** How many columns a text takes in a terminal. */

/** Ranges of characters that take two columns: East Asian scripts and emoji. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/u;
const NOTHING = /[\p{M}\p{Cf}]/u;
const PLAIN = /^[\x20-\x7E]*$/;

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (NOTHING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** As much of it as fits, with a mark where something was left out. */
export function fitted(text: string, columns: number, mark = '…'): string {
  if (textWidth(text) <= columns) return text;
  let width = textWidth(mark);
  if (columns < width) return '';
  let fits = '';
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    fits += character;
  }
  return fits + mark;
}

export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}
