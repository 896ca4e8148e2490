/** Quotes names and strings for SQL. */

/** An identifier, always quoted, so that neither keywords nor letter case matter. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
