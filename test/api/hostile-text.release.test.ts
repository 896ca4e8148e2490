/**
 * Every scanner of text that a client can send takes time in proportion to the text. Each is given texts made of one
 * piece repeated, which is what makes a backtracking pattern or a rescanning loop quadratic, in growing sizes.
 */
import { expect, test } from 'vitest';
import { Router, readQuery } from '../../src/edge/http/router.ts';
import { fixedPart, partMatcher } from '../../src/sql/catalog/glob.ts';
import { hiveKeys } from '../../src/sql/catalog/hive.ts';
import { mentionedNames } from '../../src/sql/catalog/mentions.ts';
import { readTables } from '../../src/sql/catalog/spec.ts';
import { isTypeText } from '../../src/sql/catalog/type-text.ts';
import { SseParser } from '../../src/client/calls/sse.ts';
import { parseBytes, parseMs } from '../../src/node/config/units.ts';
import { cronCalendar } from '../../src/scheduler/coordinator/calendar.ts';
import { pointerTokens } from '../../src/scheduler/core/document/pointer.ts';
import { didYouMean } from '../../src/scheduler/core/document/spelling.ts';
import {
  jsonStringBytes,
  nameFault,
  printable,
  wellFormed,
} from '../../src/scheduler/core/document/text.ts';
import { defaultSettings, parseJobDocument } from '../../src/scheduler/core/index.ts';
import { readMoment } from '../../src/scheduler/core/document/moment.ts';
import { readOptions } from '../../src/sql/engine/sql/options.ts';
import { tokensOf } from '../../src/sql/engine/sql/tokenizer.ts';
import { pointedAt, statementOf } from '../../src/sql/engine/sql/statement.ts';
import { readsClock, isCacheable } from '../../src/sql/engine/sql/volatility.ts';
import { durationMs } from '../../src/kit/duration.ts';
import { jsonFaultAt } from '../../src/kit/json-fault.ts';
import { jsonPlace } from '../../src/kit/json-place.ts';
import { redactUrl } from '../../src/kit/redact-url.ts';
import { readCursor } from '../../src/scheduler/contract/index.ts';
import { readRequest } from '../../src/sql/planner/request.ts';
import { parseJson } from '../../src/sql/plan/logical/json.ts';
import { parseType } from '../../src/sql/plan/sql/parse-type.ts';
import { accessWith } from '../../src/edge/security/access.ts';
import { parseTokens } from '../../src/edge/security/parse-tokens.ts';
import { refused } from '../../src/scheduler/store/duckdb/failure.ts';

/** What the grammars of SQL, JSON, globs, URLs, headers and durations open, close, quote, escape and repeat. */
const PIECES = [
  ...[' ', '\n', '\r', '\t', ' a', 'a', 'a ', 'é', '\u{1F600}', '0', '1.', '1e', '1ms ', '-1'],
  ...["'", "''", "e'", "e'\\", "a'", '"', '""', 'a"', '\\', '\\"', '`'],
  ...['--', '-- \n', '-', '/*', '/* ', '*/', '/**/', '/*/', '$', '$$', '$a$', '$a$$b$', '$a', '?'],
  ...[
    '(',
    '()',
    ')',
    '[',
    '[]',
    '[a',
    '[!',
    ']',
    '{',
    '{}',
    '"a":{',
    '}',
    ',',
    ',1',
    ';',
    ':',
    '=',
  ],
  ...['*', '**', '**/', '*a', 'a/', '/', '//', '../', '%', '%41', '~', '~0', '/~1', '.', '..'],
  ...['&a=', '?token', '&token', '?token=', 'token', 'Bearer ', 'file://', '://', 'a=b/', '@', '#'],
  ...['time ', 'current_', 'now(', 'query (', 'CAST(', "CAST('", 'DECIMAL(', 'STRUCT(a ', 'a INT,'],
  ...['* ', '1-2,', '*/2 ', '\0', '\ud800', 'data: a\n', 'data', '.\n', ' AS ', '"a"'],
];
const SIZES = [4_000, 16_000, 64_000];
/** Four times the text takes four times as long; a quadratic scanner sixteen times. */
const GROWTH_MAX = 9;
/** A linear scanner stays far below it, a quadratic one takes seconds; what others do on the machine does not count. */
const NOTICEABLE_MS = 100;

function inside(before: string, after: string): (text: string) => string {
  return (text) => before + text + after;
}

/** Of the processor; the least of some tries, because a garbage collection is not the scanner's. */
function leastMs(scan: (text: string) => unknown, text: string): number {
  let least = Infinity;
  for (let round = 0; round < 3; round += 1) {
    const before = process.cpuUsage();
    try {
      scan(text);
    } catch {
      // Most of these texts are refused. How long that takes is the question.
    }
    least = Math.min(least, process.cpuUsage(before).user / 1_000);
    if (least < NOTICEABLE_MS) break;
  }
  return least;
}

/** The first text whose cost grows faster than the text itself. */
function superlinear(scan: (text: string) => unknown): string | null {
  for (const piece of PIECES) {
    let before = Infinity;
    for (const size of SIZES) {
      const ms = leastMs(scan, piece.repeat(Math.ceil(size / piece.length)));
      if (ms > NOTICEABLE_MS && ms > before * GROWTH_MAX)
        return `${JSON.stringify(piece)}: ${ms.toFixed(0)} ms for ${size} characters`;
      before = ms;
    }
  }
  return null;
}

const router = new Router([]);
const access = accessWith('a-token-of-the-test');
const plain = (text: string): string => text;

/** Each with what stands around the text, where a scanner looks at a text only after something else. */
type Scanner = readonly [
  name: string,
  scan: (text: string) => unknown,
  ...around: ((text: string) => string)[],
];
const SCANNERS: readonly Scanner[] = [
  ['names of tables in SQL', mentionedNames, plain, inside('select ', ' from t')],
  ['marks of SQL', tokensOf, plain, inside('select ', '')],
  [
    'a statement and its parameters',
    (sql) => statementOf({ sql, params: [] }),
    inside('select ', ' from t'),
  ],
  ['the place of an error in SQL', (sql) => pointedAt(sql, sql.length), plain],
  ['whether SQL is steady', isCacheable, plain],
  ['whether SQL asks for the time', readsClock, plain],
  ['a request for a query', (sql) => readRequest({ sql, name: sql, timeZone: sql }), plain],
  ['options of a reader', readOptions, plain],
  ['the text of a type', isTypeText, plain, inside('STRUCT(a ', ')')],
  ['a type', parseType, plain, inside('STRUCT(a ', ')'), inside("ENUM('", "')")],
  ['a plan of DuckDB', parseJson, plain, inside('["', '"]'), inside('[', ']')],
  [
    'tables of a request',
    (text) => readTables({ [text]: text, a: { paths: [text], schema: { a: text } } }, ''),
    plain,
  ],
  ['the fixed part of a glob', (text) => fixedPart(`/${text}`), plain],
  ['a part of a glob', (text) => partMatcher(text)('a'.repeat(255)), plain],
  ['keys of Hive folders', (text) => hiveKeys([`/${text}/a.parquet`]), plain, inside('a=', '')],
  ['where a text stops being JSON', jsonFaultAt, plain, inside('["', '"'), inside('[', '')],
  [
    'a place in JSON',
    (text) => jsonPlace(text, ['a', 'b']),
    plain,
    inside('{"a":"', '"}'),
    inside('{"a":', '}'),
  ],
  ['a duration', durationMs, plain, inside('1', 's')],
  ['a duration of a setting', parseMs, plain, inside('1', 's')],
  ['a size', parseBytes, plain, inside('1', 'kb')],
  ['a URL without secrets', redactUrl, plain, inside('http://a/?', '')],
  ['a JSON Pointer', pointerTokens, plain, inside('/', '')],
  [
    'a name',
    (text) => [nameFault(text), wellFormed(text), printable(text, 1e9), jsonStringBytes(text)],
    plain,
  ],
  ['a guess at a name', (text) => didYouMean(text, ['abc', text]), plain],
  [
    'a point in time',
    (text) => readMoment(text, () => ''),
    plain,
    inside('2026-01-01T00:00:00.', 'Z'),
  ],
  [
    'a cron pattern',
    (text) => cronCalendar.check(text.slice(0, 200), 'UTC'),
    plain,
    inside('0 2 * * ', ''),
  ],
  [
    'a job document',
    (text) =>
      parseJobDocument(
        { name: text, tasks: [{ id: text, executor: text, input: { a: text, [text]: text } }] },
        defaultSettings,
      ),
    plain,
  ],
  ['a path of HTTP', (text) => router.find('GET', `/${text}`), plain],
  ['a query of HTTP', (text) => readQuery({ parameters: {} }, `?${text}`), plain],
  ['a cursor', (text) => readCursor('jobs', 1, text), plain],
  [
    'a bearer token',
    (text) => void Promise.resolve(access.allow({ authorization: text }, 'read')).catch(() => {}),
    plain,
    inside('Bearer ', ' a b'),
  ],
  ['a token file', (text) => parseTokens(text, 'tokens'), plain, inside('read ', ' x')],
  ['server-sent events', (text) => new SseParser().push(Buffer.from(text)), plain],
  [
    'an error of the DuckDB store',
    (text) => refused(new Error(`Constraint Error: ${text}x`)),
    plain,
  ],
];

test.each(SCANNERS.map(([name, ...rest]) => ({ name, rest })))(
  '$name: time grows with the text, not faster',
  ({ rest: [scan, ...around] }) => {
    for (const wrap of around) expect(superlinear((text) => scan(wrap(text)))).toBeNull();
  },
);
