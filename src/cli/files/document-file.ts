/** Job documents and schedules in files: JSON or YAML. Mistakes are reported with their line. */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { isMillraceError, MillraceError } from '../../scheduler/core/index.ts';
import { editorPlace, parseDocumentText, pointerKeys } from '../../kit/index.ts';
import { pathError, requireSource } from '../local-path.ts';

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
  const text = await readTextOf(file, signal);
  // A file that is called JSON is meant to be JSON: an extra comma is reported as such.
  const values = await parseDocumentText(text, extname(file).toLowerCase() === '.json');
  if ('message' in values) throw notReadable(name, text, values.offset, values.message);
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
      path: `${name}:${editorPlace(text, place(pointerKeys(path)))}${pointer}`,
      what,
      why,
      todo,
      cause: error,
    });
  };
  return { value, located };
}

const ABOUT_DOCUMENTS: ReadonlySet<string> = new Set(['bad_input', 'too_large']);

/** `-` is stdin. */
export function readTextOf(file: string, signal: AbortSignal): Promise<string> {
  return file === STDIN ? readStdin(signal) : readNamed(file, signal);
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
      if (text.length > CHARS_MAX)
        throw bad('The input on stdin is too large.', 'Send a single document.');
    }
    return text;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function notReadable(name: string, text: string, offset: number, what: string): MillraceError {
  const path = `${name}:${editorPlace(text, offset)}`;
  return new MillraceError({ code: 'bad_input', path, what, todo: 'Correct it.' });
}

function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
