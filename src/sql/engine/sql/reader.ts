/** Calls of the functions that read files. */
import { quotedText } from '../../plan/index.ts';
import { textList } from './text.ts';

type Format = 'parquet' | 'csv' | 'json';

const FUNCTION: Readonly<Record<Format, string>> = {
  parquet: 'read_parquet',
  csv: 'read_csv',
  json: 'read_json',
};

export function readerCall(format: Format, files: readonly string[], options: string): string {
  const list = fileList(files);
  return `${FUNCTION[format]}(${options === '' ? list : `${list}, ${options}`})`;
}

/** DuckDB takes every path for a glob: `a[1].parquet` would match `a1.parquet`. */
export function literalPath(path: string): string {
  return path.replaceAll(/[*?[]/g, '[$&]');
}

export function fileList(files: readonly string[]): string {
  return textList(files.map(literalPath));
}

export function quotedPath(path: string): string {
  return quotedText(literalPath(path));
}
