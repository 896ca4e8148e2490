/** A fragment as statements: what it reads, what it computes, what it writes. */
import { join } from 'node:path';
import { encoded, type SessionValues, type StageOutput } from '../../query/index.ts';
import type { FragmentOrder } from '../engine.ts';
import type { FragmentCall } from '../messages.ts';
import { exchangeQuery, rowOf, scanQuery } from './relation.ts';
import { quotedName, quotedText } from './text.ts';

/**
 * Of files that are read once, soon, and mostly from memory: measured over compressions, dictionary sizes and
 * row groups (decision 13). The newer encodings shrink more than a compression would, and cost nothing.
 */
const FORMAT =
  'FORMAT parquet, PARQUET_VERSION v2, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1000';

const WHOLE_FILE = '0-0.parquet';

export function fragmentCall(order: FragmentOrder): FragmentCall {
  const { folder, output } = order;
  const query = outputQuery(order);
  const setup = [`SET TimeZone = ${quotedText(order.session.timeZone)}`];
  for (const { name, select } of order.fragment.tables)
    setup.push(`CREATE TEMP VIEW ${quotedName(name)} AS ${select}`);
  setup.push(...clockMacros(order.fragment.sql, order.session));
  if (output.kind === 'hash') {
    const into = join(folder, 'parts');
    return {
      name: 'fragment',
      setup,
      copy: `COPY (\n${query}\n) TO ${quotedText(into)} (${FORMAT}, PARTITION_BY (p), RETURN_STATS)`,
      target: { kind: 'partitions', folder, into, count: output.partitions },
      keepEmpty: false,
    };
  }
  return {
    name: 'fragment',
    setup,
    copy: `COPY (\n${query}\n) TO ${quotedText(join(folder, WHOLE_FILE))} (${FORMAT})`,
    target: { kind: 'file', folder, file: WHOLE_FILE },
    keepEmpty: output.kind === 'result',
  };
}

/** The relations are inlined, not views: a view would open its files once more. */
function outputQuery({ fragment, output, ranges, inputs }: FragmentOrder): string {
  const relations = [
    ...fragment.scans.map((scan) => [scan.relation, scanQuery(scan, ranges[scan.relation] ?? [])]),
    ...fragment.inputs.map((input) => [
      input.relation,
      exchangeQuery(input, inputs[input.relation] ?? []),
    ]),
  ] as const;
  const names = fragment.columns.map((_, at) => `c${at}`);
  const list = fragment.columns.map(({ type }, at) => `${encoded(type, `c${at}`)} AS c${at}`);
  const alias = names.length === 0 ? 'f' : `f(${names.join(', ')})`;
  const withRelations =
    relations.length === 0
      ? ''
      : `WITH ${relations
          .map(([name, query]) => `${quotedName(String(name))} AS NOT MATERIALIZED (\n${query}\n)`)
          .join(',\n')}\n`;
  const from = `(\n${fragment.sql}\n) AS ${alias}`;
  const partition = partitionOf(output);
  if (partition === null) return `${withRelations}SELECT ${rowOf(list)} FROM ${from}`;
  // In a query of its own: `by` means the values as they are, not as they are written.
  return `${withRelations}SELECT ${rowOf(list)}, p FROM (SELECT *, ${partition} AS p FROM ${from})`;
}

function partitionOf(output: StageOutput): string | null {
  if (output.kind !== 'hash') return null;
  if (output.by.length === 0) return '0::INTEGER';
  return `((hash(${output.by.join(', ')}) >> 24) % ${output.partitions})::INTEGER`;
}

const CLOCK =
  /\b(now|today|transaction_timestamp|get_current_\w+|current_\w+|localtime(stamp)?)\b/i;

/** The user's own text asks DuckDB for the time: it is to be the same in every attempt. */
function clockMacros(sql: string, { now }: SessionValues): string[] {
  if (!CLOCK.test(sql)) return [];
  const instant = `${quotedText(now)}::TIMESTAMPTZ`;
  const macros: Readonly<Record<string, string>> = {
    now: instant,
    transaction_timestamp: instant,
    get_current_timestamp: instant,
    today: `${instant}::DATE`,
    current_date: `${instant}::DATE`,
    get_current_time: `${instant}::TIMETZ`,
    current_localtime: `${instant}::TIMESTAMP::TIME`,
    current_localtimestamp: `${instant}::TIMESTAMP`,
  };
  return Object.entries(macros).map(([name, value]) => `CREATE TEMP MACRO ${name}() AS ${value}`);
}
