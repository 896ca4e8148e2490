/** Job documents and schedules in files: JSON or YAML, whatever the file is called. */
import { readFile } from 'node:fs/promises';
import { MillraceError } from '../core/index.ts';
import { pathError, requireSource } from './local-path.ts';

const STDIN = '-';
/** Several times what a server takes; more is not a document. */
const CHARS_MAX = 64 * 1024 * 1024;

/** The values in a file; `-` is stdin. One, unless it is YAML with several documents. */
export async function readDocuments(
  file: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const name = file === STDIN ? 'The text on stdin' : file;
  const text = file === STDIN ? await readStdin(signal) : await readNamed(file, signal);
  const json = parsedJson(text);
  const values = json === undefined ? await parsedYaml(text, name) : [json.value];
  if (values.length === 0) throw bad(`${name} is empty.`, 'A job document has a list of tasks.');
  return values;
}

async function readNamed(file: string, signal: AbortSignal): Promise<string> {
  await requireSource(file);
  try {
    return await readFile(file, { encoding: 'utf8', signal });
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

async function parsedYaml(text: string, name: string): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents
    .filter(({ contents, errors }) => contents !== null || errors.length > 0)
    .map((document) => {
      const [fault] = document.errors;
      if (fault !== undefined) throw notReadable(name, fault);
      try {
        return document.toJS() as unknown;
      } catch (error) {
        throw notReadable(name, error);
      }
    });
}

function notReadable(name: string, cause: unknown): MillraceError {
  // Its first line says what is wrong and where; the rest draws it.
  const [sentence = ''] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
  return bad(`${name} is neither JSON nor YAML: ${sentence.replace(/:$/, '')}.`, 'Correct it.');
}

function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
