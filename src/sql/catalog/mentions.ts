/** The names a statement may mention: all its words, so possibly some that are not tables. */
import { tokensOf } from '../engine/index.ts';

/** In lower case, as SQL compares them. */
export function mentionedNames(sql: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { kind, from, to } of tokensOf(sql)) {
    if (kind === 'word') names.add(sql.slice(from, to).toLowerCase());
    else if (kind === 'other' && sql.charAt(from) === '"')
      names.add(
        sql
          .slice(from + 1, to - 1)
          .replaceAll('""', '"')
          .toLowerCase(),
      );
  }
  return names;
}
