/**
 * The content of a store as lines of JSON, from any kind of store into any other: a header, the
 * rows, and a trailer that says how many there were and what they hash to. Nothing of an import
 * stays when a line is wrong or the end is missing.
 */
import { createHash, type Hash } from 'node:crypto';
import { isMillraceError, MillraceError } from '../core/index.ts';
import { checkDumped } from './dump-checks.ts';
import { misshapen } from './dump-shape.ts';
import type { Dumped, Store } from './store.ts';

const FORMAT = 'millrace-export';
const VERSION = 3;
/** Version 1 knows no signals, version 2 no labels; their rows lack what jobs, tasks and nodes have got since. */
const OLDEST = 1;
const READABLE: readonly number[] = [OLDEST, 2, VERSION];
const ADDED: Readonly<Record<string, object>> = {
  job: { output: null, labels: [], runAt: null, options: null },
  task: { waits: null },
  history: { waits: null },
  node: { slots: 1, prefetch: 0 },
};

/** How many rows of each table. */
export type RowCounts = Readonly<Record<string, number>>;

interface Trailer {
  readonly end: true;
  readonly rows: RowCounts;
  readonly sha256: string;
}

export async function* exportStore(store: Store): AsyncGenerator<string> {
  const sum = new Sum();
  const header = JSON.stringify({ format: FORMAT, version: VERSION });
  yield sum.line(header);
  for await (const item of store.dump()) {
    sum.count(item.table);
    yield sum.line(JSON.stringify(item));
  }
  yield JSON.stringify(sum.trailer());
}

/** Into an empty store; answers how many rows of each table came in. */
export async function importStore(
  store: Store,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<RowCounts> {
  const sum = new Sum();
  try {
    await store.fill(rowsOf(lines, sum));
  } catch (cause) {
    // The row is fine by itself but not beside those before it; stores see that sooner or later.
    if (isMillraceError(cause, 'bad_row')) throw wrong(sum.lines, reasonOf(cause), cause);
    throw cause;
  }
  return sum.rows;
}

const reasonOf = (refusal: MillraceError): string => refusal.what.replace(/\.$/, '');

/** Counts rows and hashes lines, on both sides in the same way. */
class Sum {
  readonly rows: Record<string, number> = {};
  lines = 0;
  readonly #hash: Hash = createHash('sha256');

  line(text: string): string {
    this.#hash.update(text).update('\n');
    this.lines += 1;
    return text;
  }

  count(table: string): void {
    this.rows[table] = (this.rows[table] ?? 0) + 1;
  }

  /** The last thing that is asked of it. */
  trailer(): Trailer {
    return { end: true, rows: this.rows, sha256: this.#hash.digest('hex') };
  }
}

async function* rowsOf(
  lines: AsyncIterable<string> | Iterable<string>,
  sum: Sum,
): AsyncGenerator<Dumped> {
  let no = 0;
  let version = VERSION;
  let ended = false;
  for await (const line of lines) {
    no += 1;
    const text = line.replace(/\r?\n?$/, '');
    if (text === '' && ended) continue;
    if (ended) throw wrong(no, 'there is more after the end');
    const value = parsed(no, text);
    if (no === 1) {
      version = checkedVersion(value);
      sum.line(text);
    } else if (isTrailer(value)) {
      checkTrailer(no, value, sum);
      ended = true;
    } else {
      const item = checkedRow(no, version === VERSION ? value : completed(value));
      sum.line(text);
      sum.count(item.table);
      yield item;
    }
  }
  if (!ended) throw wrong(no + 1, 'the end is missing, so the export is not complete');
}

function parsed(no: number, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw wrong(no, 'it is not JSON', cause);
  }
}

function checkedVersion(value: unknown): number {
  const { format, version } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (format !== FORMAT) throw wrong(1, `it is not the beginning of a ${FORMAT}`);
  if (typeof version !== 'number' || !READABLE.includes(version)) {
    const readable = `${OLDEST} to ${VERSION}`;
    throw wrong(1, `it has version ${String(version)}, this build reads versions ${readable}`);
  }
  return version;
}

/** A row of an earlier version, as this one writes it. What is not a row is left for the checks. */
function completed(value: unknown): unknown {
  const { table, row, ...rest } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const added = typeof table === 'string' && Object.hasOwn(ADDED, table) ? ADDED[table] : undefined;
  if (added === undefined || typeof row !== 'object' || row === null) return value;
  return { table, row: { ...added, ...row }, ...rest };
}

const isTrailer = (value: unknown): value is Trailer =>
  typeof value === 'object' && value !== null && 'end' in value;

function checkTrailer(no: number, found: Trailer, sum: Sum): void {
  const expected = sum.trailer();
  const tables = new Set([...Object.keys(expected.rows), ...Object.keys(found.rows ?? {})]);
  for (const table of tables) {
    const [came, said] = [expected.rows[table] ?? 0, found.rows?.[table] ?? 0];
    if (came !== said) throw wrong(no, `it counts ${said} rows of ${table}, but ${came} came`);
  }
  if (found.sha256 !== expected.sha256) throw wrong(no, 'its checksum does not fit the rows');
}

function checkedRow(no: number, value: unknown): Dumped {
  const why = misshapen(value);
  if (why !== null) throw wrong(no, why);
  const item = value as Dumped;
  try {
    checkDumped(item);
  } catch (cause) {
    if (isMillraceError(cause, 'bad_row')) throw wrong(no, reasonOf(cause), cause);
    throw cause;
  }
  return item;
}

function wrong(no: number, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    path: `line ${no}`,
    what: `The export cannot be imported: ${why}.`,
    todo: 'Nothing was stored. Export again, or use an intact copy.',
    cause,
  });
}
