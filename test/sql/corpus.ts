/** The corpus: named queries in `corpus/*.sql`, with what each leaves open in comments before it. */
import { readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { Leeway } from './oracle.ts';

export interface CorpusQuery {
  /** `joins: left join with nothing`. */
  readonly name: string;
  readonly sql: string;
  readonly leeway: Leeway;
  /** It has to fail, with a message like this. */
  readonly fails: RegExp | null;
  /** DuckDB would do it, a server must not. */
  readonly isRefused: boolean;
  /** Two runs give different rows: only their number and the columns are compared. */
  readonly volatile: boolean;
}

const FOLDER = new URL('corpus/', import.meta.url);
const NAME = /^-- name: (.+)$/;
const NAME_FIRST = /^-- name: /;
const MARK = /^-- (order|bags|open|fails|refused|tolerance|ties|volatile)(?:: (.+))?$/;

export function readCorpus(): readonly CorpusQuery[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql'));
  return files.toSorted().flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    return parseCorpus(basename(file, '.sql'), text);
  });
}

export function parseCorpus(topic: string, text: string): readonly CorpusQuery[] {
  const pieces = text.split(/^(?=-- name: )/m).filter((piece) => NAME_FIRST.test(piece));
  return pieces.map((piece) => {
    const lines = piece.trim().split('\n');
    const name = NAME.exec(lines[0]!)?.[1];
    if (name === undefined) throw new Error(`${topic}: a query without a name: ${piece}`);
    const marks = new Map<string, string>();
    let at = 1;
    for (let mark = MARK.exec(lines[at] ?? ''); mark !== null; mark = MARK.exec(lines[at] ?? '')) {
      marks.set(mark[1]!, mark[2] ?? '');
      at += 1;
    }
    const sql = lines.slice(at).join('\n').trim();
    if (sql === '' || sql.startsWith('--')) throw new Error(`${topic}: ${name}: what is ${sql}?`);
    return { name: `${topic}: ${name}`, sql, ...meaning(marks) };
  });
}

function meaning(marks: ReadonlyMap<string, string>): Omit<CorpusQuery, 'name' | 'sql'> {
  const positions = (mark: string): readonly number[] =>
    (marks.get(mark) ?? '').split(',').filter(Boolean).map(Number);
  const tolerance = marks.get('tolerance');
  const fails = marks.get('fails') ?? marks.get('refused');
  return {
    leeway: {
      order: positions('order'),
      ties: marks.has('ties'),
      bags: positions('bags'),
      open: positions('open'),
      ...(tolerance === undefined ? {} : { tolerance: Number(tolerance) }),
    },
    fails: fails === undefined ? null : new RegExp(fails),
    isRefused: marks.has('refused'),
    volatile: marks.has('volatile'),
  };
}
