/**
 * The statements that are not queries themselves: EXPLAIN, EXPLAIN ANALYZE and SHOW TABLES. Only their first words are
 * read here. What is explained is checked and planned like any other query.
 */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { tokensOf } from './tokenizer.ts';

export type Command =
  | { readonly kind: 'query' | 'explain' | 'analyze'; readonly sql: string }
  | { readonly kind: 'show tables' };

/** Fails with `bad_query`. The `sql` of an explained query has blanks for the words before it, so positions stay. */
export function commandOf(sql: string): Command {
  const tokens = tokensOf(sql);
  while (tokens.at(-1)?.kind === 'semicolon') tokens.pop();
  const words = tokens.slice(0, 3).map(({ from, to }) => sql.slice(from, to).toLowerCase());
  const [first, second, third] = words;
  if (first === 'show' && second === 'tables' && tokens.length === 2)
    return { kind: 'show tables' };
  if (first !== 'explain') return { kind: 'query', sql };
  if (second === '(' && (third === 'analyze' || third === 'format'))
    throw refused(
      'EXPLAIN takes no options here.',
      'Write EXPLAIN or EXPLAIN ANALYZE. POST /api/v1/queries/explain returns the plan as JSON.',
    );
  const count = second === 'analyze' ? 2 : 1;
  if (tokens.length <= count)
    throw refused('There is nothing to explain.', 'Write a query after it.');
  const end = tokens[count - 1]?.to ?? 0;
  const blanks = sql.slice(0, end).replaceAll(/[^\n]/g, ' ');
  return { kind: count === 2 ? 'analyze' : 'explain', sql: blanks + sql.slice(end) };
}

function refused(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_query', what, todo });
}
