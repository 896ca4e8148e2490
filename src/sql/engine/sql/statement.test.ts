import { describe, expect, test } from 'vitest';
import { pointedAt, statementOf } from './statement.ts';

function written(sql: string, params: Parameters<typeof statementOf>[0]['params'] = []): string {
  return statementOf({ sql, params }).sql;
}

describe('parameters', () => {
  test('become constants that DuckDB may read as what it needs', () => {
    expect(written('SELECT ?, ?, ?, ?, ?, ?', [1, -2, 0.5, "it's", true, null])).toBe(
      `SELECT 1, (-2), CAST('0.5' AS DOUBLE), 'it''s', true, NULL`,
    );
    expect(written('SELECT $2, $1, $2', ['a', 1e300])).toBe(
      `SELECT CAST('1e+300' AS DOUBLE), 'a', CAST('1e+300' AS DOUBLE)`,
    );
    expect(
      written('SELECT $day, $ids, $o', { day: '2026-01-01', ids: [1, 'x'], o: { a: 1 } }),
    ).toBe(`SELECT '2026-01-01', [1, 'x'], {'a': 1}`);
  });

  test('that are lists of fractions become one constant', () => {
    expect(written('SELECT ?::FLOAT[3]', [[0.5, -1e-7, 2]])).toBe(
      `SELECT CAST('[0.5, -1e-7, 2]' AS DOUBLE[])::FLOAT[3]`,
    );
    expect(written('SELECT ?, ?, ?', [[1, -2], [], [0.5, null]])).toBe(
      `SELECT [1, (-2)], [], [CAST('0.5' AS DOUBLE), NULL]`,
    );
    expect(() => written('SELECT ?', [[0.5, Number.NaN]])).toThrow('/params/0/1');
  });

  test('are not looked for in strings, names, comments and dollar quotes', () => {
    const sql = `SELECT '?', "?", $$ ? $1 $$, $x$ $1 $x$, E'\\'?', a$1 -- ?\n/* ? /* $1 */ ? */ FROM t`;
    expect(written(sql)).toBe(sql);
  });

  test('must be separate, so that none merges with the text next to it', () => {
    for (const glued of [
      ...['e?', 'X?', 'U&?', 'count?', '1?', '?1', '?e5', 't.?', '?.5', '"a"?'],
      ...['? ?', '?\n?', `'a' ?`, `?\n'a'`, `? -- x\n'a'`, `$1$2`],
    ])
      expect(() => written(`SELECT ${glued}`, ['a', 'b'])).toThrow(
        /is not separate from|has no value/,
      );
    expect(written(`SELECT (?)::DATE, [?], -?, date ?, x=?`, ['a', 1, 2, 'c', 3])).toBe(
      `SELECT ('a')::DATE, [1], -2, date 'c', x=3`,
    );
  });

  test('without a value, and values without a parameter, are refused', () => {
    expect(() => written('SELECT $2', ['only one'])).toThrow('$2 has no value');
    expect(() => written('SELECT ?')).toThrow('? has no value');
    expect(() => written('SELECT $name', { other: 1 })).toThrow('$name has no value');
    expect(() => written('SELECT $constructor', {})).toThrow('has no value');
    expect(() => written('SELECT 1', [5])).toThrow('/params/0');
    expect(() => written('SELECT ?', [{}])).toThrow(
      '/params/0: This value is not a valid parameter.',
    );
    expect(() => written('SELECT ?', [['\0']])).toThrow('/params/0/0');
    expect(() => written('SELECT ?', [Number.NaN])).toThrow('/params/0');
  });
});

describe('the statement', () => {
  test('loses semicolons at its end, and nothing else', () => {
    expect(written(' SELECT 1 ; -- that is all\n ;; ')).toBe(' SELECT 1   -- that is all');
    expect(written('SELECT 1 -- a line\rWHERE ? = 2', [1])).toBe('SELECT 1 -- a line\rWHERE 1 = 2');
    expect(written('SELECT 1 -- a line\r;\n/* x */')).toBe('SELECT 1 -- a line\r \n/* x */');
    expect(written(`SELECT ';'`)).toBe(`SELECT ';'`);
  });

  test('is the only one and a query', () => {
    for (const sql of ['', ' ; ', '-- nothing', 'SELECT 1; SELECT 2'])
      expect(() => written(sql)).toThrow('A query must be a single SELECT statement.');
    expect(() => written('/* see */ explain SELECT 1')).toThrow('starts with EXPLAIN');
    expect(() => written("SET threads = '1'")).toThrow('Send settings');
    for (const word of ['constructor', 'toString', '__proto__', 'hasOwnProperty'])
      expect(written(word)).toBe(word);
  });

  test('an error in it is shown in the text that the user wrote', () => {
    const sql = 'SELECT ?,\n\t?, nope FROM t';
    const { sql: text, placeOf } = statementOf({ sql, params: ['a long text', 2] });
    const at = placeOf(text.indexOf('nope'));
    expect(pointedAt(sql, at)).toEqual({ where: '2:5', shown: '\t?, nope FROM t\n\t   ^' });
    const wide = `SELECT '日😀', x`;
    expect(pointedAt(wide, wide.indexOf('x')).shown).toBe(`${wide}\n        \u3000\u3000   ^`);
    expect(placeOf(text.indexOf('long'))).toBe(7);
    expect(pointedAt('SELECT', 99)).toEqual({ where: '1:7', shown: 'SELECT\n      ^' });
    expect(pointedAt(`${' '.repeat(500)}x`, 500).shown).toBe(
      `${' '.repeat(60)}x\n${' '.repeat(60)}^`,
    );
  });
});
