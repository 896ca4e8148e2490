/** The configuration file: where it is, and its names and values. Never quotes it: it may hold secrets. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import type * as yamlPackage from 'yaml';
import type { Document } from 'yaml';
import { MillraceError } from '../../scheduler/core/index.ts';

export interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The package is loaded when a file needs it: few have one, and every command reads settings. */
function parseDocument(text: string): Document.Parsed {
  const yaml = createRequire(import.meta.url)('yaml') as typeof yamlPackage;
  return yaml.parseDocument(text);
}

const FOUND_BY_NAME = ['millrace.config.json', 'millrace.config.yaml', 'millrace.config.yml'];
const BYTES_MAX = 2 ** 20;

/** `named` comes from `--config` or MILLRACE_CONFIG, and `by` says which; it must be there. */
export function readConfigFile(
  named: string | undefined,
  by: string,
  folder: string,
): ConfigFile | undefined {
  if (named !== undefined) return read(resolve(folder, named), by);
  const found = FOUND_BY_NAME.filter((name) => existsSync(join(folder, name)));
  const [first, second] = found;
  if (first === undefined) return undefined;
  if (second !== undefined) {
    throw bad(`Two configuration files were found, ${first} and ${second}.`, 'Keep one.');
  }
  return read(join(folder, first), 'found in this folder');
}

function read(path: string, by: string): ConfigFile {
  const text = textOf(path, by);
  const values: unknown = extname(path) === '.json' ? jsonIn(path, text) : yamlIn(path, text);
  // An empty YAML file is null: a file in which every line is commented out.
  if (values === null) return { path, values: {} };
  if (typeof values !== 'object' || Array.isArray(values)) {
    throw bad(`${path} must contain names and values.`, 'Use for example `port: 7070`.');
  }
  return { path, values: values as Readonly<Record<string, unknown>> };
}

function textOf(path: string, by: string): string {
  try {
    const { size } = statSync(path);
    if (size > BYTES_MAX) throw bad(`${path} is larger than 1 MiB.`, 'Give a configuration file.');
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw bad(`The configuration file ${path} (${by}) ${why}.`);
  }
}

function jsonIn(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The message of JSON.parse quotes the text. YAML holds JSON, so its parser knows the place.
    throw bad(`${path} is not valid JSON${placeOfError(text)}.`);
  }
}

function yamlIn(path: string, text: string): unknown {
  const place = placeOfError(text);
  if (place !== '') throw bad(`${path} is not valid YAML${place}.`);
  try {
    return parseDocument(text).toJS({ maxAliasCount: 100 }) as unknown;
  } catch {
    throw bad(`${path} is not valid YAML: its aliases do not resolve.`);
  }
}

function placeOfError(text: string): string {
  const [error] = parseDocument(text).errors;
  if (error === undefined) return '';
  const [from] = error.linePos ?? [];
  return from === undefined ? ` (${error.code})` : `: line ${from.line}, column ${from.col}`;
}

function bad(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_setting', what, todo });
}
