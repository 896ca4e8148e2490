/** Job documents and schedules in files: JSON or YAML. What is wrong in one is told with its line. */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { isMillraceError, MillraceError } from '../../core/index.ts';
import { pathError, requireSource } from '../local-path.ts';
import { jsonPlace } from './json-place.ts';
import { parseYaml } from './yaml-text.ts';

const STDIN = '-';
/** Several times what a server takes; more is not a document. */
const CHARS_MAX = 64 * 1024 * 1024;

export interface FileValue {
  readonly value: unknown;
  readonly located: Locate;
}

/** The error with its line and column in the file, if it is about a place in this value. `outside` is
 * the part of its path that lies around the value. */
export type Locate = (error: unknown, outside?: string) => unknown;

/** The values in a file; `-` is stdin. One, unless it is YAML with several documents. */
export async function readDocuments(
  file: string,
  signal: AbortSignal,
): Promise<readonly FileValue[]> {
  const name = file === STDIN ? 'stdin' : file;
  const text = file === STDIN ? await readStdin(signal) : await readNamed(file, signal);
  const json = parsedJson(text);
  if (json !== undefined) return [valueIn(name, text, json.value, (keys) => jsonPlace(text, keys))];
  // A file that is called JSON is meant to be JSON: a comma too many is told as such.
  if (extname(file).toLowerCase() === '.json' && text.trim() !== '') {
    const { jsonFaultAt } = await import('../../api/index.ts');
    throw notReadable(name, text, jsonFaultAt(text), 'The text stops being JSON here.');
  }
  const values = await parseYaml(text);
  if ('message' in values) {
    const what = `The text is neither JSON nor YAML: ${values.message}`;
    throw notReadable(name, text, values.offset, what);
  }
  if (values.length === 0) throw bad(`${name} is empty.`, 'A job document has a list of tasks.');
  return values.map(({ value, place }) => valueIn(name, text, value, place));
}

function valueIn(
  name: string,
  text: string,
  value: unknown,
  place: (keys: readonly string[]) => number,
): FileValue {
  const located: Locate = (error, outside = '') => {
    if (!isMillraceError(error) || !ABOUT_DOCUMENTS.has(error.code)) return error;
    const { code, what, why, todo } = error;
    const path = (error.path ?? '').slice(outside.length);
    const pointer = path === '' ? '' : `: ${path}`;
    return new MillraceError({
      code,
      path: `${name}:${lineAndColumn(text, place(keysOf(path)))}${pointer}`,
      what,
      ...(why === undefined ? {} : { why }),
      ...(todo === undefined ? {} : { todo }),
      cause: error,
    });
  };
  return { value, located };
}

const ABOUT_DOCUMENTS: ReadonlySet<string> = new Set(['bad_input', 'too_large']);

function keysOf(pointer: string): readonly string[] {
  if (!pointer.startsWith('/')) return [];
  const tokens = pointer.slice(1).split('/');
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** As an editor counts: from 1. */
function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `${line}:${offset - before.lastIndexOf('\n')}`;
}

async function readNamed(file: string, signal: AbortSignal): Promise<string> {
  await requireSource(file);
  try {
    const text = await readFile(file, { encoding: 'utf8', signal });
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch (error) {
    throw pathError(error, `${file} cannot be read`);
  }
}

async function readStdin(signal: AbortSignal): Promise<string> {
  const { stdin } = process;
  const stop = (): void => void stdin.destroy(new Error('interrupted'));
  signal.addEventListener('abort', stop, { once: true });
  try {
    stdin.setEncoding('utf8');
    let text = '';
    for await (const chunk of stdin as AsyncIterable<string>) {
      text += chunk;
      if (text.length > CHARS_MAX) throw bad('There is too much on stdin.', 'Send one document.');
    }
    return text;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function notReadable(name: string, text: string, offset: number, what: string): MillraceError {
  const path = `${name}:${lineAndColumn(text, offset)}`;
  return new MillraceError({ code: 'bad_input', path, what, todo: 'Correct it.' });
}

function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
