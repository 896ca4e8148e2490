/** SQL text seen from afar: where its strings, comments, placeholders and semicolons are. Nothing is understood. */

export type Mark =
  | { readonly kind: 'word'; readonly from: number; readonly to: number }
  /** `?`, `$1` or `$name`; the name is empty for `?`. */
  | {
      readonly kind: 'placeholder';
      readonly from: number;
      readonly to: number;
      readonly name: string;
    }
  | { readonly kind: 'semicolon'; readonly from: number; readonly to: number }
  /** Anything else that means something. */
  | { readonly kind: 'other'; readonly from: number; readonly to: number };

const RULES: readonly (readonly [kind: Mark['kind'] | 'blank', pattern: RegExp])[] = [
  ['blank', /\s+/y],
  ['blank', /--[^\n]*/y],
  // A string with escapes: a backslash takes the next letter with it.
  ['other', /[eE]'(?:[^'\\]|\\[^]|'')*'?/y],
  ['word', /[\p{L}_\u0080-\uffff][\p{L}\p{N}_$\u0080-\uffff]*/uy],
  ['other', /'(?:[^']|'')*'?/y],
  ['other', /"(?:[^"]|"")*"?/y],
  // Text between two equal marks, as `$$it's$$` or `$x$...$x$`.
  ['other', /\$([\p{L}_][\p{L}\p{N}_]*)?\$[^]*?(?:\$\1\$|$)/uy],
  ['placeholder', /\$[\p{L}\p{N}_]+|\?/uy],
  ['semicolon', /;/y],
  ['other', /[\d.]+(?:[eE][+-]?\d+)?|[^]/y],
];

export function marksOf(sql: string): Mark[] {
  const marks: Mark[] = [];
  for (let from = 0; from < sql.length;) {
    const block = blockComment(sql, from);
    const [kind, to] = block === null ? match(sql, from) : (['blank', block] as const);
    if (kind === 'placeholder') {
      const name = sql.slice(from + 1, to);
      marks.push({ kind, from, to, name });
    } else if (kind !== 'blank') marks.push({ kind, from, to });
    from = to;
  }
  return marks;
}

function match(sql: string, at: number): readonly [Mark['kind'] | 'blank', number] {
  for (const [kind, pattern] of RULES) {
    pattern.lastIndex = at;
    const found = pattern.exec(sql);
    if (found !== null && found[0] !== '') return [kind, at + found[0].length];
  }
  return ['other', at + 1];
}

/** The end of a comment that starts here. Comments may stand inside of comments. */
function blockComment(sql: string, from: number): number | null {
  if (!sql.startsWith('/*', from)) return null;
  let depth = 0;
  for (let at = from; at < sql.length; at += 1) {
    if (sql.startsWith('/*', at)) {
      depth += 1;
      at += 1;
    } else if (sql.startsWith('*/', at)) {
      depth -= 1;
      at += 1;
      if (depth === 0) return at + 1;
    }
  }
  return sql.length;
}
