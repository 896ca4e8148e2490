/** Writes a fragment as SQL statements: what it reads, what it computes, what it writes. */
import { join } from 'node:path';
import {
  CUSTOM_RELATION,
  encoded,
  type FileRange,
  type Fragment,
  type Scan,
  type SessionValues,
  type StageOutput,
  quotedName,
  quotedText,
} from '../../plan/index.ts';
import type { FragmentRequest } from '../engine.ts';
import {
  type FragmentCall,
  OUTPUT,
  type Sandbox,
  type SandboxLink,
  type TableView,
} from '../messages.ts';
import { customTable, inputQuery, outputColumns } from './custom-script.ts';
import type { KeyColumn } from './key-script.ts';
import { cutIn, linksIn } from './links.ts';
import { openFiles } from './open-files.ts';
import { exchangeQuery, rowOf, scanQuery } from './relation.ts';
import { resultRows } from './result-script.ts';
import { readsClock } from './volatility.ts';

/**
 * For files that are read once, soon, and mostly from memory: measured over compressions, dictionary sizes and row
 * groups (decision 13). The newer encodings save more than a compression would, and cost nothing. Without Bloom
 * filters: DuckDB's miss -0 when asked for 0, and BLOBs that need escapes (decision 22).
 */
const FORMAT =
  'FORMAT parquet, PARQUET_VERSION v2, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1000, WRITE_BLOOM_FILTER false';

/** All files in one folder: creating and removing a folder per partition took longer than most fragments. */
const PARTITIONED = 'PARTITION_BY (p), HIVE_FILE_PATTERN false, RETURN_STATS';

const WHOLE_FILE = '0-0.parquet';

/** `place` is the engine's own folder. */
export function fragmentCall(order: FragmentRequest, place: string): FragmentCall {
  const { folder, output, fragment, rowsMax } = order;
  const { sandbox, inputs, ranges } = sandboxOf(order, place);
  const placed = { ...order, inputs, ranges };
  const query = outputQuery(placed);
  const views = fragment.tables.map(({ name, select }) => ({ name, select }));
  const keepsFooters = isPinned(sandbox, order);
  const head = {
    name: 'fragment',
    sandbox: {
      ...sandbox,
      ...(order.scope === undefined ? {} : { scope: order.scope }),
      ...(keepsFooters ? { keepsFooters, views } : {}),
    },
    timeZone: order.session.timeZone,
    setup: setupOf(order, keepsFooters ? [] : views),
    custom: customRun(placed),
    requires: order.requires ?? [],
    keys: keyColumns(order),
    filtered: filteredCount(placed),
    leavesNoState: leavesNoState(order),
  } as const;
  if (output.kind === 'hash' || output.kind === 'range') {
    return {
      ...head,
      copy: `COPY (\n${query}\n) TO ${quotedText(join(place, OUTPUT))} (${FORMAT}, ${PARTITIONED})`,
      target: { kind: 'partitions', folder, count: output.partitions },
      keepEmpty: false,
      rows: null,
    };
  }
  const path = join(place, OUTPUT, WHOLE_FILE);
  const copyOf = (rows: string): string => `COPY (\n${rows}\n) TO ${quotedText(path)} (${FORMAT})`;
  const isResult = output.kind === 'result';
  return {
    ...head,
    copy: copyOf(query),
    target: { kind: 'file', folder, file: WHOLE_FILE },
    keepEmpty: isResult,
    rows:
      isResult && rowsMax !== undefined
        ? resultRows(fragment.columns, rowsMax, {
            select: (list) => outputQuery(placed, list),
            copy: copyOf,
          })
        : null,
  };
}

interface Placed {
  readonly sandbox: Sandbox;
  /** Of the exchanges, as the fragment sees them. */
  readonly inputs: FragmentRequest['inputs'];
  /** Of the scans: what was cut out of a file is a file of its own. */
  readonly ranges: FragmentRequest['ranges'];
}

/** Pinned files are opened by their own paths, which may carry Hive keys. Everything else is linked or cut out. */
function sandboxOf(order: FragmentRequest, place: string): Placed {
  const { fragment, inputs } = order;
  const cuts: SandboxLink[] = [];
  const ranges = Object.fromEntries(
    fragment.scans.map(({ relation, reader }) => {
      const own = order.ranges[relation] ?? [];
      if (reader.format === 'parquet') return [relation, own];
      return [
        relation,
        own.map((range) => (range.from === null ? range : cutOut(range, place, cuts))),
      ];
    }),
  );
  const isCut = new Set(cuts.map(({ as }) => as));
  const files = [
    ...Object.values(ranges).flat(),
    ...fragment.tables.flatMap((table) => table.files),
  ].filter(({ path }) => !isCut.has(path));
  const linked = Object.entries(inputs).map(
    ([relation, paths]) => [relation, linksIn(place, paths)] as const,
  );
  return {
    sandbox: {
      files: openFiles(files),
      links: [...cuts, ...linked.flatMap(([, links]) => links)],
    },
    ranges,
    inputs: Object.fromEntries(
      linked.map(([relation, links]) => [relation, links.map(({ as }) => as)]),
    ),
  };
}

/** Footers of more data are not worth the memory: DuckDB does not count it, and each set of files has its own. */
const CACHED_FILES_MAX = 32;
const CACHED_BYTES_MAX = 2 ** 30;

/** Whether the fragment reads nothing but pinned files, and few of them. */
function isPinned({ files, links }: Sandbox, { fragment, ranges }: FragmentRequest): boolean {
  if (files.length === 0 || files.length > CACHED_FILES_MAX || links.length > 0) return false;
  const all = [...Object.values(ranges).flat(), ...fragment.tables.flatMap((table) => table.files)];
  const sizes = new Map(all.map(({ path, bytes }) => [path, bytes]));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0) <= CACHED_BYTES_MAX;
}

function cutOut(range: FileRange, place: string, cuts: SandboxLink[]): FileRange {
  const cut = cutIn(place, range);
  cuts.push(cut);
  return { ...range, path: cut.as, from: null, to: null };
}

/** All in one call: each call costs more than the statement itself. */
function setupOf({ fragment, session }: FragmentRequest, views: readonly TableView[]): string {
  const created = views.map(
    ({ name, select }) => `CREATE TEMP VIEW ${quotedName(name)} AS ${select}`,
  );
  return [...created, ...clockMacros(fragment.sql, session)].map((each) => `${each}\n;\n`).join('');
}

/**
 * Whether it leaves no state on the connection. SQL that was written for a plan leaves none. A user's own SQL may,
 * also in a submitted plan: a view, a macro, a seed, the types of a PIVOT with values of the data in them.
 */
function leavesNoState({ fragment, output }: FragmentRequest): boolean {
  const { sql, scans, inputs, tables } = fragment;
  const isPlanned = scans.length + inputs.length > 0 && tables.length === 0;
  if (fragment.custom !== undefined) return false;
  const keys = output.kind === 'hash' || output.kind === 'range' ? [output.by].flat() : [];
  return isPlanned && !readsClock(sql) && ![sql, ...keys].some((each) => LASTING.test(each));
}

const LASTING = /setseed|pivot/i;

/** A custom operator reads the relations of the fragment; the statement reads what it returns. */
function customRun(order: FragmentRequest): FragmentCall['custom'] {
  const { fragment, operator, operatorBytes: memoryBytes = 0, operatorRowsMax } = order;
  const { custom } = fragment;
  if (custom === undefined || operator === undefined) return null;
  const output = outputColumns(operator);
  const { name, create, drop } = customTable(output);
  const input = `${withRelations(relationsOf(order))}SELECT * FROM (\n${inputQuery(custom, fragment, operator)}\n)`;
  const table = { name, create, drop };
  const limits = { memoryBytes, rowsMax: operatorRowsMax ?? Number.MAX_SAFE_INTEGER };
  return { name: custom.op_name, params: custom.params, ...limits, input, output, table };
}

type NamedQuery = readonly [name: string, query: string];

/** The relations are inlined rather than views: a view would open its files once more. */
function relationsOf(order: FragmentRequest): NamedQuery[] {
  const { fragment, inputs, filters } = order;
  return [
    ...fragment.scans.map((scan): NamedQuery => {
      const { [scan.relation]: filter } = filters ?? {};
      if (filter === undefined) return [scan.relation, ownRows(order, scan)];
      return [scan.relation, withoutOthers(ownRows(order, { ...scan, filtered: true }), filter)];
    }),
    ...fragment.inputs.map((input): NamedQuery => [
      input.relation,
      exchangeQuery(input, inputs[input.relation] ?? []),
    ]),
  ];
}

function ownRows({ ranges, spans }: FragmentRequest, scan: Scan): string {
  return scanQuery(scan, ranges[scan.relation] ?? [], spans?.[scan.relation]);
}

/** DuckDB does it while it scans, and skips row groups by their statistics. */
function withoutOthers(query: string, filter: string): string {
  return `SELECT * FROM (\n${query}\n) WHERE ${filter}`;
}

function keyColumns({ keys, fragment }: FragmentRequest): readonly KeyColumn[] {
  const { columns = [], tasks = 1 } = keys ?? {};
  return columns.map((column) => ({ column, type: fragment.columns[column]?.type ?? '', tasks }));
}

/** Reads the filtered columns once more. */
function filteredCount(order: FragmentRequest): string | null {
  const { fragment, filters = {}, countsFiltered } = order;
  if (countsFiltered !== true) return null;
  const counts = fragment.scans.flatMap((scan) => {
    const { [scan.relation]: filter } = filters;
    return filter === undefined
      ? []
      : [`(SELECT count(*) FROM (\n${ownRows(order, scan)}\n) WHERE (${filter}) IS NOT TRUE)`];
  });
  return `SELECT (${['0', ...counts].join(' + ')})::VARCHAR`;
}

function withRelations(relations: readonly NamedQuery[]): string {
  if (relations.length === 0) return '';
  const list = relations.map(
    ([name, query]) => `${quotedName(name)} AS NOT MATERIALIZED (\n${query}\n)`,
  );
  return `WITH ${list.join(',\n')}\n`;
}

/** The same for each range of rows. Files that are read as a whole are one range. */
function rangesOf(order: FragmentRequest): readonly FragmentRequest[] {
  const [scan] = order.fragment.scans;
  if (scan === undefined) return [];
  const { relation } = scan;
  const ranges = order.ranges[relation] ?? [];
  const whole = ranges.filter(({ from }) => from === null);
  const others = ranges.filter(({ from }) => from !== null).map((range) => [range]);
  const all = whole.length === 0 ? others : [whole, ...others];
  return all.map((own) => ({ ...order, ranges: { [relation]: own } }));
}

function wholeQuery(order: FragmentRequest): string {
  return `SELECT * FROM (\n${withRelations(relationsOf(order))}${order.fragment.sql}\n)`;
}

/** `list` is what is selected of the columns `c0`, `c1`, ...; their encoded values if absent. */
function outputQuery(order: FragmentRequest, list = encodedColumns(order.fragment)): string {
  const { fragment, output, operator } = order;
  const relations: readonly NamedQuery[] =
    fragment.custom === undefined || operator === undefined
      ? relationsOf(order)
      : [[CUSTOM_RELATION, customTable(outputColumns(operator)).select]];
  const names = fragment.columns.map((_, at) => `c${at}`);
  const alias = names.length === 0 ? 'f' : `f(${names.join(', ')})`;
  const parts = order.byRange === true ? rangesOf(order) : [];
  const isWhole = parts.length < 2;
  const query = isWhole
    ? fragment.sql
    : parts.map((part) => wholeQuery(part)).join('\nUNION ALL\n');
  const from = `(\n${query}\n) AS ${alias}`;
  const partition = partitionOf(output);
  const before = isWhole ? withRelations(relations) : '';
  if (partition === null) return `${before}SELECT ${rowOf(list)} FROM ${from}`;
  // In a subquery of its own: `by` refers to the values before they are encoded.
  return `${before}SELECT ${rowOf(list)}, p FROM (SELECT *, ${partition} AS p FROM ${from})`;
}

function encodedColumns({ columns }: Fragment): readonly string[] {
  return columns.map(({ type }, at) => `${encoded(type, `c${at}`)} AS c${at}`);
}

/**
 * The partition number, as an expression over the columns of the fragment; null if there are no partitions. Each key
 * is on lines of its own, so that no comment in it reaches the next.
 */
export function partitionOf(output: StageOutput): string | null {
  if (output.kind === 'range') return `(\n${output.by}\n)::INTEGER`;
  if (output.kind !== 'hash') return null;
  if (output.by.length === 0) return '0::INTEGER';
  const keys = output.by.map((key) => `(\n${key}\n)`);
  return `((hash(${keys.join(', ')}) >> 24) % ${output.partitions})::INTEGER`;
}

/**
 * Macros for the functions that read the clock, so that a user's own SQL sees the same time in every attempt. Other
 * such functions, such as `ago`, are macros over these.
 */
function clockMacros(sql: string, { now }: SessionValues): string[] {
  if (!readsClock(sql)) return [];
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
  const all = Object.entries(macros).map(([name, value]) => `${name}() AS ${value}`);
  return [...all, ageMacro(instant)].map((macro) => `CREATE TEMP MACRO ${macro}`);
}

/**
 * With one argument, `age` measures from the beginning of the day: in the session's zone for a time with a zone, in
 * UTC for others.
 */
function ageMacro(instant: string): string {
  const age = 'system.main.age';
  const here = `${age}(${instant}::DATE::TIMESTAMPTZ, t::TIMESTAMPTZ)`;
  const inUtc = `${age}((${instant} AT TIME ZONE 'UTC')::DATE::TIMESTAMP, t::TIMESTAMP)`;
  const one = `CASE typeof(t) WHEN 'TIMESTAMP WITH TIME ZONE' THEN ${here} ELSE ${inUtc} END`;
  return `age(t) AS ${one}, (t, u) AS ${age}(t, u)`;
}
