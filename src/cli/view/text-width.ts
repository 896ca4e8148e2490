/** How many columns a text takes in a terminal, by what a reader sees as one character. */

/** East Asian scripts, whose characters take two columns. */
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]/u;
const PLAIN = /^[\x20-\x7E]*$/;
const NOTHING = /^[\p{M}\p{Cf}]/u;
// As text: the compiler's target does not know the flag yet, every supported Node.js does.
const EMOJI = new RegExp('^\\p{RGI_Emoji}$', 'v');
const graphemes = new Intl.Segmenter();

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

/** As much of it as fits, with a mark where something was left out. */
export function fitted(text: string, columns: number, mark = '…'): string {
  if (textWidth(text) <= columns) return text;
  let width = textWidth(mark);
  if (columns < width) return '';
  let fits = '';
  for (const { segment } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns) break;
    fits += segment;
  }
  return fits + mark;
}

export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)));
}
