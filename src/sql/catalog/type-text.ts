/**
 * Types from users go into SQL as they are. DuckDB decides what they mean; this check makes sure that the text is
 * nothing but a type: names, numbers and quoted words in balanced brackets.
 */

const TOKEN = /\s*(?:([A-Za-z_]\w*|\d+|'(?:[^']|'')*'|"(?:[^"]|"")*"|,)|([([])|([)\]]))\s*/y;
const CHARS_MAX = 2_000;
const PAIRS: Readonly<Record<string, string>> = { '(': ')', '[': ']' };

export function isTypeText(text: string): boolean {
  if (text.length > CHARS_MAX || !/^\s*[A-Za-z_"]/.test(text) || text.includes('\0')) return false;
  const open: string[] = [];
  let at = 0;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (found === null) return false;
    at = TOKEN.lastIndex;
    const [, word, opening, closing] = found;
    if (word === ',' && open.length === 0) return false;
    if (opening !== undefined) open.push(PAIRS[opening] ?? '');
    if (closing !== undefined && open.pop() !== closing) return false;
  }
  return open.length === 0;
}
