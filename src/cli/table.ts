/** Text in columns, for people. */

/** What moves a terminal's cursor, ends its line, or turns the direction of the text around. */
const UNSAFE = /[\p{Cc}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;
const UNSAFE_BUT_LINES = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu;

/** Names are untrusted: unsafe characters are shown, not sent. */
export function plain(text: string): string {
  return text.replaceAll(UNSAFE, '\uFFFD');
}

/** The same for a text of several lines. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(UNSAFE_BUT_LINES, '\uFFFD');
}

/** The lines of a table; numbers stand to the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string[] {
  const cells = rows.map((row) => row.map((cell) => plain(String(cell ?? '-'))));
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const isNumber = headings.map((_, at) => rows.every((row) => typeof row[at] === 'number'));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) =>
        isNumber[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(headings), ...cells.map(line)];
}

/** Facts under each other. */
export function facts(pairs: readonly (readonly [string, string | null])[]): string[] {
  const known = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.flatMap(([name, value]) =>
    // The lines of a value stand under each other.
    value
      .split('\n')
      .map((line, at) => `${(at === 0 ? name : '').padEnd(width)}  ${plain(line)}`.trimEnd()),
  );
}
