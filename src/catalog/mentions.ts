/** Which names a statement may speak of: all its words, so perhaps some that are no tables. */

const TOKEN =
  /'(?:[^']|'')*'|"((?:[^"]|"")*)"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]*)\$[\s\S]*?\$\2\$|([\p{L}_][\p{L}\p{N}_$]*)/gu;

/** In lower case, as SQL compares them. */
export function mentionedNames(sql: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, quoted, , word] of sql.matchAll(TOKEN)) {
    if (quoted !== undefined) names.add(quoted.replaceAll('""', '"').toLowerCase());
    if (word !== undefined) names.add(word.toLowerCase());
  }
  return names;
}
