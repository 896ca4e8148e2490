/** Which tables a statement may use, from its text alone. */

/**
 * False only if the statement certainly does not use the table, so that its files need not be looked at. A quote in a
 * name is doubled in the statement, an escape may stand for any of its characters, and `query` makes statements of texts.
 */
export function mayMention(sql: string, table: string): boolean {
  if (table.includes('"') || /u&"|query/i.test(sql)) return true;
  return sql.toLowerCase().includes(table.toLowerCase());
}
