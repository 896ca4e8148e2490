const NAME_MAX = 80;

/** The name of a query's job, if it has no other: the beginning of its SQL text. */
export function jobName(sql: string): string {
  const line = sql.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const text =
    line.length <= NAME_MAX
      ? line
      : `${Array.from(line)
          .slice(0, NAME_MAX - 3)
          .join('')}...`;
  return `sql: ${text}`;
}
