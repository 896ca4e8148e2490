/** Reads the values of some columns of an output that was just written. */
import { KEYS_MAX, KEY_CHARS_MAX, bitCount, type KeySummary } from '../../plan/index.ts';
import { keyBits, keyFacts, keyValues, type KeyColumn } from '../sql/key-script.ts';
import { Failed, type Connection } from './work.ts';

/** How much longer a list may be than what its length was estimated at. */
const MARGIN = 2;
/** A filter with longer values would cost more than it saves. */
const VALUE_CHARS_MAX = 1_024;
/** Texts with this character cannot be stored. */
const NUL = '\0';

/** One for each column; null if its values cannot be written as text that means exactly them. */
export async function keysIn(
  connection: Connection,
  columns: readonly KeyColumn[],
  files: readonly string[],
): Promise<readonly (KeySummary | null)[]> {
  const found: (KeySummary | null)[] = [];
  for (const column of columns) found.push(await keysOf(connection, column, files));
  return found;
}

const NO_ROWS: KeySummary = { hasNull: false, min: null, max: null, values: [] };
const ONLY_NULL: KeySummary = { hasNull: true, min: null, max: null, values: [] };

async function keysOf(
  connection: Connection,
  column: KeyColumn,
  files: readonly string[],
): Promise<KeySummary | null> {
  if (files.length === 0) return NO_ROWS;
  try {
    const [facts = []] = await connection.texts(keyFacts(column, files));
    const [nulls, min = null, max = null, count, isExact] = facts;
    if (min === null || max === null) return nulls === 'true' ? ONLY_NULL : NO_ROWS;
    if (isExact !== 'true' || !isShort(min) || !isShort(max)) return null;
    const mayList = Number(count) <= KEYS_MAX * MARGIN;
    const values = mayList ? await listed(connection, column, files) : null;
    // A short list may be too long together with those of other tasks.
    const size = bitCount(Number(count), column.tasks);
    const isOneOf = values === null || column.tasks > 1;
    const bits = size !== null && isOneOf ? await bitmap(connection, column, files, size) : null;
    const known = { hasNull: nulls === 'true', min, max, values };
    return bits === null ? known : { ...known, bits };
  } catch (error) {
    // The output is complete. Without its keys, more rows are read elsewhere.
    if (error instanceof Failed && SHORTAGES.has(error.fault.code)) return null;
    throw error;
  }
}

const SHORTAGES: ReadonlySet<string> = new Set(['out_of_memory', 'disk_full']);

async function listed(
  connection: Connection,
  column: KeyColumn,
  files: readonly string[],
): Promise<readonly string[] | null> {
  const rows = await connection.texts(keyValues(column, files, KEYS_MAX + 1));
  const values = rows.map(([value]) => value ?? '');
  const chars = values.reduce((sum, { length }) => sum + length, 0);
  const isListed =
    values.length <= KEYS_MAX && chars <= KEY_CHARS_MAX && values.every((value) => isShort(value));
  return isListed && rows.every(([, isExact]) => isExact === 'true') ? values : null;
}

async function bitmap(
  connection: Connection,
  column: KeyColumn,
  files: readonly string[],
  size: number,
): Promise<string | null> {
  const [[bits = null] = []] = await connection.texts(keyBits(column, files, size));
  return bits;
}

function isShort(text: string): boolean {
  return text.length <= VALUE_CHARS_MAX && !text.includes(NUL);
}
