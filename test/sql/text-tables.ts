/** Tables of JSON and CSV files: those whose lines can be split between tasks, those that cannot, and faulty ones. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { TableSpec } from '../../src/sql/catalog/index.ts';
import { Oracle } from './oracle.ts';

const jsonRow = (i: number): object => ({
  id: i,
  ...(i % 7 === 0 ? {} : { name: i % 11 === 0 ? null : `n${i % 13} "ö"\n` }),
  amount: i / 8,
  day: `2024-0${1 + (i % 9)}-11`,
  tags: i % 5 === 0 ? [] : [`t${i % 3}`, 'x'.repeat(i % 40)],
  owner: { city: `c${i % 4}`, age: i % 6 === 0 ? null : i % 90 },
});
const series = <T>(from: number, to: number, of: (i: number) => T): T[] =>
  Array.from({ length: to - from }, (_, at) => of(from + at));
const json = (from: number, to: number): string[] =>
  series(from, to, (i) => JSON.stringify(jsonRow(i)));
const odd = (i: number): object => ({ id: i, val: [i, `v${i}`, { deep: i }, null, [i]][i % 5] });

const HEADER = 'id,name,amount,day,moment';
const csvRow = (i: number): string =>
  [
    i,
    i % 7 === 0 ? '' : `n${i % 13} it's ö#${'x'.repeat(i % 30)}`,
    i / 8,
    i % 9 === 0 ? '' : `2024-0${1 + (i % 9)}-11`,
    `2024-01-01 10:${10 + (i % 50)}:00`,
  ].join(',');
const csv = (from: number, to: number): string =>
  [HEADER, ...series(from, to, csvRow), ''].join('\n');

/** More rows than DuckDB looks at to infer types. */
const SAMPLED = 21_000;
const ids = (count: number): string[] => series(0, count, (i) => `{"id": ${i}}`);
const pairs = (count: number): string[] => series(0, count, (i) => `${i},x`);

/** Tables with the same name before a dash are one. */
const FILES: Readonly<Record<string, string | Buffer>> = {
  'plain.json': `${json(0, 3_000).join('\n')}\n`,
  'open.ndjson': json(0, 40).join('\n'),
  'crlf.jsonl': `${json(0, 500).join('\r\n')}\r\n`,
  'blank.json': `${json(0, 300).join('\n\n  \n')}\n\n\n`,
  // Longer than the share of a task.
  'long.json': `${JSON.stringify({ ...jsonRow(1), name: 'y'.repeat(300_000) })}\n${json(2, 60).join('\n')}\n`,
  'one.json': `${JSON.stringify(jsonRow(7))}\n`,
  'many-1.json': `${json(0, 700).join('\n')}\n`,
  'many-2.json': `${json(700, 720).join('\n')}\n`,
  'many-3.json': json(720, 1_500).join('\n'),
  'mixed.json': `${series(0, 400, (i) => JSON.stringify(odd(i))).join('\n')}\n`,
  'sheet.csv': csv(0, 3_000),
  'sheets-1.csv': csv(0, 500),
  'sheets-2.csv': csv(500, 510),
  'sheets-3.csv': csv(510, 1_200).trimEnd(),
  'gaps.csv': csv(0, 300).replaceAll('\n', '\n\n').replace('\n\n', '\n'),
  'wide.csv': `id;note\n1;${'y'.repeat(200_000)}\n${series(2, 60, (i) => `${i};z`).join('\n')}\n`,
  'dates.csv': `id,day\n${series(0, 400, (i) => `${i},${10 + (i % 19)}/1${i % 3}/2024`).join('\n')}\n`,
  'codes.csv': `code,n\n${series(0, 400, (i) => `00${i},${i}`).join('\n')}\n`,
  'tail.csv': `a,b\n${series(0, 300, (i) => `${i},x${i % 2 === 0 ? '' : ','}`).join('\n')}\n`,
  // Cannot be split.
  'list.json': `[\n${json(0, 200).join(',\n')}\n]\n`,
  'pretty.json': json(0, 50)
    .map((text) => JSON.stringify(JSON.parse(text), null, 1))
    .join('\n'),
  'packed.json.gz': gzipSync(`${json(0, 200).join('\n')}\n`),
  'zipped.csv.gz': gzipSync(csv(0, 200)),
  'quotes.csv': `a,b\n1,"x\ny"\n${pairs(200).join('\n')}\n`,
  'late.csv': `a,b\n${pairs(SAMPLED).join('\n')}\n5,"x"\n6,z\n`,
  'windows.csv': csv(0, 200).replaceAll('\n', '\r\n'),
  'single.csv': `a\n${series(0, 200, (i) => (i % 3 === 0 ? '' : String(i))).join('\n')}\n`,
  'bare.csv': `${pairs(200).join('\n')}\n`,
  'remarks.csv': `a,b\n#1,2\n${pairs(200).join('\n')}\n`,
  'titled.csv': `made by hand\n\na,b\n${pairs(200).join('\n')}\n`,
  // Faults behind the rows that types are inferred from.
  'broken_object.json': `${[...ids(SAMPLED), '{"id": 900,', ...ids(50)].join('\n')}\n`,
  'broken_number.json': `${[...ids(SAMPLED), '5', ...ids(50)].join('\n')}\n`,
  'broken_value.csv': `a,b\n${[...pairs(SAMPLED), 'zz,x', ...pairs(50)].join('\n')}\n`,
  'broken_row.csv': `a,b\n${[...pairs(SAMPLED), '1,x,3', ...pairs(50)].join('\n')}\n`,
};

export const SPLIT =
  'plain open crlf blank long one many mixed sheet sheets gaps wide dates codes'.split(' ');
export const WHOLE_JSON = ['list', 'pretty', 'packed', 'keyed'];
export const WHOLE_CSV = 'zipped quotes late windows single bare remarks titled tail'.split(' ');
export const BROKEN = ['broken_object', 'broken_number', 'broken_value', 'broken_row'];

export interface TextTables {
  readonly folder: string;
  readonly specs: Readonly<Record<string, TableSpec>>;
  readonly oracle: Oracle;
  readonly remove: () => void;
}

/** All of them, or those that are named. */
export async function writeTextTables(names?: readonly string[]): Promise<TextTables> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-text-'));
  mkdirSync(join(folder, 'kind=a'));
  writeFileSync(join(folder, 'kind=a', 'keyed.json'), `${json(0, 100).join('\n')}\n`);
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
  const paths = new Map([['keyed', join(folder, 'kind=a', 'keyed.json')]]);
  for (const file of Object.keys(FILES)) {
    const [, table = '', several] = /^(\w+)(-\d)?\./.exec(file) ?? [];
    paths.set(table, join(folder, several === undefined ? file : file.replace(/-\d/, '-*')));
  }
  const reader = ([name, path]: [string, string]): [string, string] => {
    const types = name === 'codes' ? ", types = {'code': 'VARCHAR'}" : '';
    return [name, `${path.includes('.csv') ? 'read_csv' : 'read_json'}('${path}'${types})`];
  };
  for (const name of paths.keys()) if (names?.includes(name) === false) paths.delete(name);
  const readers = [...paths].filter(([name]) => !BROKEN.includes(name)).map(reader);
  const oracle = await Oracle.open(Object.fromEntries(readers));
  const specs: Record<string, TableSpec> = Object.fromEntries(paths);
  if (paths.has('codes'))
    specs['codes'] = { paths: String(paths.get('codes')), schema: { code: 'VARCHAR' } };
  return { folder, specs, oracle, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export const TEXT_QUERIES: readonly (readonly [sql: string, order?: readonly number[]])[] = [
  ['SELECT owner.city, count(*), sum(amount), max(day) FROM plain GROUP BY ALL'],
  ['SELECT p.id, m.name FROM plain p JOIN many m ON p.id = m.id + 1 WHERE p.amount > 10'],
  ['SELECT id, name FROM plain ORDER BY name DESC NULLS FIRST, id', [2, 1]],
  ['SELECT id FROM plain WHERE name IS NULL ORDER BY id LIMIT 7', [1]],
  ['SELECT t, count(*) FROM (SELECT unnest(tags) AS t FROM plain) GROUP BY t'],
  ['SELECT val, id FROM mixed WHERE id % 2 = 0'],
  ['SELECT id FROM many EXCEPT SELECT id FROM open'],
  ['SELECT day, count(*), avg(amount) FROM sheet GROUP BY day'],
  ['SELECT s.id, p.day FROM sheets s JOIN plain p USING (id) WHERE s.name IS NOT NULL'],
  ['SELECT moment, id FROM sheet ORDER BY moment DESC, id', [1, 2]],
  ['SELECT code, sum(n) FROM codes GROUP BY code HAVING sum(n) > 100'],
  ['SELECT year(day), count(*) FROM dates GROUP BY 1'],
];
