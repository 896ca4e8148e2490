/** Text in columns, for people. */

/** Names are untrusted: characters that move a terminal's cursor are shown, not sent. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\uFFFD');
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
