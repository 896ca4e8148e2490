/** Quotes names and strings for SQL. */

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quotedText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function textList(texts: readonly string[]): string {
  return `[${texts.map(quotedText).join(', ')}]`;
}
