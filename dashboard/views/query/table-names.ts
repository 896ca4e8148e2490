/** Tables as the page lets a person write them: a line of `name = path` for each. */
const LINE = /^\s*([^=\s]+)\s*=\s*(.+?)\s*$/;

/** Lines that are not of that form are left out. */
export function givenTables(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name, path] = LINE.exec(line) ?? [];
      return name === undefined || path === undefined ? [] : [[name, path] as const];
    }),
  );
}

/** The names that stand in a statement as words, in any case, in the order of `names`. */
export function mentionedIn(sql: string, names: readonly string[]): readonly string[] {
  const words = new Set(sql.toLowerCase().match(/[\p{L}\p{N}_$]+/gu) ?? []);
  const text = sql.toLowerCase();
  return names.filter((name) => {
    const lower = name.toLowerCase();
    return words.has(lower) || text.includes(`"${lower.replaceAll('"', '""')}"`);
  });
}
