/** The time now as DuckDB writes that of a statement, in UTC. */
export function sqlTime(): string {
  return new Date().toISOString().replace('T', ' ').replace('Z', '+00');
}
