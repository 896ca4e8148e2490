import { expect, test } from 'vitest';
import { faultOf, faultOfAnswer } from './fault.ts';

function duckdb(type: string, message: string, more: object = {}): Error {
  return new Error(JSON.stringify({ exception_type: type, exception_message: message, ...more }));
}

const bytes = (at: number) => ({ at, unit: 'byte' });

test('marks DuckDB as broken after an internal error', () => {
  for (const type of ['FATAL', 'INTERNAL'])
    expect(faultOf(duckdb(type, 'Failed: database has been invalidated'), 'run')).toEqual({
      code: 'engine_crashed',
      what: 'DuckDB failed with an internal error.',
      why: 'Failed: database has been invalidated',
      isBroken: true,
    });
  const said = faultOf(duckdb('Invalid Input', 'database has been invalidated'), 'run');
  expect(said).toEqual({ code: 'query_failed', what: 'database has been invalidated' });
});

test('recognises a full disk by its message', () => {
  for (const message of [
    'Could not write file "x": No space left on device',
    'x: Disk quota exceeded',
  ])
    expect(faultOf(duckdb('IO', message), 'run')).toMatchObject({ code: 'disk_full' });
  const quota = `failed to offload data block of size 256.0 KiB (1.0 MiB/1.0 MiB used).\nThis limit was set by the 'max_temp_directory_size' setting.`;
  expect(faultOf(duckdb('Out of Memory', quota), 'run')).toMatchObject({ code: 'disk_full' });
});

test('maps a missing or forbidden file to different codes while planning and while running', () => {
  const missing = duckdb('IO', 'No files found that match the pattern "x"');
  expect(faultOf(missing, 'run').code).toBe('table_changed');
  expect(faultOf(missing, 'describe').code).toBe('table_missing');
  const short = duckdb('Invalid Input', `File 'x' too small to be a Parquet file`);
  expect(faultOf(short, 'run').code).toBe('table_changed');
  expect(faultOf(short, 'describe').code).toBe('schema_mismatch');
  const denied = duckdb('IO', 'Cannot open file "x": Permission denied');
  expect(faultOf(denied, 'run').code).toBe('path_refused');
});

test('finds positions and messages in every form that DuckDB uses', () => {
  const wrapped = new Error(
    `Failed to extract statements: Parser Error: ${duckdb('Parser', 'no', { position: '7' }).message}`,
  );
  expect(faultOf(wrapped, 'plan')).toEqual({ code: 'bad_query', what: 'no', position: bytes(7) });
  expect(faultOf(new Error('Binder Error: not so\nor so'), 'plan')).toEqual({
    code: 'bad_query',
    what: 'not so\nor so',
  });
  expect(faultOf(new Error('INTERRUPT Error: Interrupted!'), 'run').code).toBe('interrupted');
  expect(faultOf('just words', 'run')).toEqual({ code: 'query_failed', what: 'just words' });
  expect(faultOf(new Error('{"exception_type" broken'), 'run').code).toBe('query_failed');
  const answer = { error_type: 'parser', error_message: 'no', position: '3' };
  expect(faultOfAnswer(answer, 'plan')).toEqual({
    code: 'bad_query',
    what: 'no',
    position: bytes(3),
  });
});

test("suggests a name for a missing table, but none of DuckDB's own tables", () => {
  const missing = (more: string) =>
    duckdb('Catalog', `Table with name x does not exist!\n${more}`, {
      ...{ error_subtype: 'MISSING_ENTRY', type: 'Table' },
    });
  const said = (more: string) => faultOf(missing(more), 'plan').what;
  expect(said('Did you mean "sales"?')).toBe(
    'Table with name x does not exist! Did you mean "sales"?',
  );
  expect(said('Did you mean "pg_enum"?')).toBe('Table with name x does not exist!');
});
