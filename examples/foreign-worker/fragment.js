/**
 * Runs a fragment with DuckDB: the relations that it reads as SQL, the query itself, and a COPY into Parquet. The format
 * of a fragment is docs/plan-format.md.
 */
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';

/** Something that this worker cannot do; another one can. */
export class Unable extends Error {}

/** Inputs that are gone, by task and fence. */
export class InputLost extends Error {
  constructor({ task, fence }, why) {
    super(`The output of ${task} cannot be read: ${why}`);
    this.lost = [{ task_id: task, fence }];
  }
}

/** Returns the files of each partition, and the rows of each file. */
export async function runFragment(task, folder, fetchPartition, signal) {
  const { fragment, session } = task;
  await mkdir(folder, { recursive: true });
  await checkPins(task);
  const files = await fetchInputs(task, folder, fetchPartition);
  const query = outputQuery(task, files);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const interrupt = () => connection.interrupt();
  signal.addEventListener('abort', interrupt);
  try {
    await connection.run(`SET TimeZone = ${text(session.timeZone)}`);
    for (const { name, select } of fragment.tables)
      await connection.run(`CREATE TEMP VIEW ${quoted(name)} AS ${select}`);
    // What comes now is a user's SQL: it may read the files of this task, and nothing else.
    const readable = [...pathsOf(task), ...Object.values(files).flat()];
    await connection.run(`SET allowed_paths = [${readable.map(text).join(', ')}]`);
    await connection.run(`SET allowed_directories = [${text(folder)}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
    signal.throwIfAborted();
    const written = await write(connection, task.output, query, join(folder, 'out'));
    await checkPins(task);
    return { files: written, rowsOf: await rowsIn(connection, written.flat()) };
  } finally {
    signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

async function write(connection, output, query, out) {
  await mkdir(out);
  if (output.kind !== 'hash') {
    const path = join(out, 'all.parquet');
    await connection.run(`COPY (${query}) TO ${text(path)} (FORMAT parquet)`);
    return [[path]];
  }
  await connection.run(`COPY (${query}) TO ${text(out)} (FORMAT parquet, PARTITION_BY (p))`);
  const partitions = Array.from({ length: output.partitions }, () => []);
  for (const name of await readdir(out)) {
    const own = (await readdir(join(out, name))).toSorted();
    partitions[Number(name.slice('p='.length))].push(...own.map((file) => join(out, name, file)));
  }
  return partitions;
}

async function rowsIn(connection, files) {
  const rows = new Map();
  for (const path of files) {
    const read = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet(${text(path)})`);
    rows.set(path, Number(read.getRows()[0][0]));
  }
  return rows;
}

/** Every file of a table must be the one that the query was planned for. */
async function checkPins({ fragment, ranges }) {
  for (const file of [
    ...Object.values(ranges).flat(),
    ...fragment.tables.flatMap((table) => table.files),
  ]) {
    const { size, mtimeNs } = await stat(file.path, { bigint: true });
    if (Number(size) !== file.bytes || String(mtimeNs) !== file.mtimeNs)
      throw new Error(`${file.path} has changed since the query was planned.`);
  }
}

function pathsOf({ fragment, ranges }) {
  const files = [
    ...Object.values(ranges).flat(),
    ...fragment.tables.flatMap((table) => table.files),
  ];
  return [...new Set(files.map(({ path }) => path))];
}

/** The files of each input, by relation: own ones in place, all others fetched and verified. */
async function fetchInputs({ fragment, reads }, folder, fetchPartition) {
  const files = {};
  let fetched = 0;
  for (const { relation } of fragment.inputs) {
    files[relation] = [];
    for (const { at, partition, part } of reads[relation]) {
      if (part.segments.length === 0) continue;
      const own = await fetchPartition(at, partition);
      if (Array.isArray(own)) {
        files[relation].push(...own);
        continue;
      }
      let start = 0;
      for (const [bytes, sum] of part.segments) {
        const segment = own.subarray(start, start + bytes);
        start += bytes;
        if (segment.length !== bytes || crc32(segment) !== sum)
          throw new InputLost(at, 'its bytes are not those that were reported');
        fetched += 1;
        const path = join(folder, `in-${fetched}.parquet`);
        await writeFile(path, segment);
        files[relation].push(path);
      }
    }
  }
  return files;
}

function outputQuery({ fragment, output, ranges, spans = {}, requires }, files) {
  if (fragment.custom !== undefined) throw new Unable('custom operators');
  if (fragment.tables.length > 0 && CLOCK.test(fragment.sql))
    throw new Unable('functions that read the clock');
  if (requires.length > 0) throw new Unable(requires[0]);
  const relations = [
    ...fragment.scans.map((scan) => [
      scan.relation,
      scanQuery(scan, ranges[scan.relation], spans[scan.relation]),
    ]),
    ...fragment.inputs.map((input) => [input.relation, inputQuery(input, files[input.relation])]),
  ].map(([name, sql]) => `${quoted(name)} AS NOT MATERIALIZED (${sql})`);
  const names = fragment.columns.map((_column, at) => `c${at}`);
  const list = fragment.columns.map(({ type }, at) => `${encoded(type, `c${at}`)} AS c${at}`);
  const before = relations.length === 0 ? '' : `WITH ${relations.join(', ')} `;
  const from = `(\n${fragment.sql}\n) AS f${names.length === 0 ? '' : `(${names.join(', ')})`}`;
  const row = list.length === 0 ? 'true AS c0' : list.join(', ');
  if (output.kind !== 'hash') return `${before}SELECT ${row} FROM ${from}`;
  const keys = output.by.map((key) => `(\n${key}\n)`).join(', ');
  const p = keys === '' ? '0' : `((hash(${keys}) >> 24) % ${output.partitions})::INTEGER`;
  return `${before}SELECT ${row}, p FROM (SELECT *, ${p} AS p FROM ${from})`;
}

const CLOCK = /\b(now|today|age|ago|current_|transaction_timestamp|get_current|localtime)/i;

/** The rows of a table that belong to this task, as c0, c1, ... */
function scanQuery(scan, ranges, span) {
  const branches = ranges.map(({ path, from, to }) => {
    const where = [];
    if (from !== null) where.push(`file_row_number >= ${from}`);
    if (from !== null && to !== null) where.push(`file_row_number < ${to}`);
    const options = [scan.reader.options, from === null ? '' : 'file_row_number = true'].filter(
      (each) => each !== '',
    );
    const read = `read_${scan.reader.format}(${[text(glob(path)), ...options].join(', ')})`;
    const list = scan.columns.map(
      ({ source, type }, at) => `CAST(${quoted(source)} AS ${type}) AS c${at}`,
    );
    const rows = `SELECT ${list.length === 0 ? 'true AS c0' : list.join(', ')} FROM ${read}${whereOf(where)}`;
    if (span === undefined || !span.mixed.includes(path)) return rows;
    const bounds = [];
    if (span.from !== null) bounds.push(`c${span.column} >= ${span.from}`);
    if (span.to !== null) bounds.push(`c${span.column} < ${span.to}`);
    return `SELECT * FROM (${rows})${whereOf(bounds)}`;
  });
  return branches.length === 0 ? nothing(scan.columns) : branches.join(' UNION ALL ');
}

function whereOf(conditions) {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}

/** What other tasks have written, as c0, c1, ... */
function inputQuery({ columns }, files) {
  if (files.length === 0) return nothing(columns);
  const list = columns.map(({ name, type }, at) => `${decoded(type, quoted(name))} AS c${at}`);
  const paths = files.map((path) => text(glob(path))).join(', ');
  return `SELECT ${list.length === 0 ? 'true AS c0' : list.join(', ')} FROM read_parquet([${paths}], hive_partitioning = false)`;
}

function nothing(columns) {
  const list = columns.map(({ type }, at) => `CAST(NULL AS ${type}) AS c${at}`);
  return `SELECT ${list.length === 0 ? 'true AS c0' : list.join(', ')} WHERE false`;
}

/** Types that Parquet keeps as they are. Everything else needs a form that readers know: docs/plan-format.md. */
const KEPT =
  /^(BOOLEAN|U?(TINY|SMALL|BIG)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|VARCHAR|BLOB|UUID|DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE)$/;

function encoded(type, sql) {
  if (KEPT.test(type)) return `CAST(${sql} AS ${type})`;
  if (type !== 'HUGEINT') throw new Unable(`the type ${type}`);
  const isNarrow = `${sql} BETWEEN (-9223372036854775808)::HUGEINT AND 9223372036854775807::HUGEINT`;
  const wide = `CASE WHEN ${isNarrow} THEN NULL ELSE CAST(${sql} AS VARCHAR) END`;
  return `struct_pack(n := TRY_CAST(${sql} AS BIGINT), w := ${wide})`;
}

function decoded(type, sql) {
  if (KEPT.test(type)) return sql;
  if (type !== 'HUGEINT') throw new Unable(`the type ${type}`);
  const part = (name) => `CAST(struct_extract(${sql}, '${name}') AS HUGEINT)`;
  return `coalesce(${part('n')}, ${part('w')})`;
}

/** DuckDB takes every path for a glob. */
function glob(path) {
  return path.replaceAll(/[*?[]/g, '[$&]');
}

function text(value) {
  return `'${value.replaceAll("'", "''")}'`;
}

function quoted(name) {
  return `"${name.replaceAll('"', '""')}"`;
}
