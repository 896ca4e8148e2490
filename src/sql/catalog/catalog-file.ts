/** The catalog file, which names tables for all users. It is read at the start, and again whenever it has changed. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, extname, resolve } from 'node:path';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import { editorPlace, parseDocumentText, pointerKeys } from '../../kit/index.ts';
import type { TextValue } from '../../kit/index.ts';
import { readFault } from './pin.ts';
import { readTables } from './spec.ts';
import type { TableDefinition } from './spec.ts';

export interface CatalogContent {
  readonly tables: readonly TableDefinition[];
  /** The folder that relative paths start from. */
  readonly folder: string;
  /** Adds the line and column in the file to an error. */
  readonly located: (error: unknown) => unknown;
}

/** A catalog has at most a thousand tables; a larger file is not one. */
const BYTES_MAX = 16 * 1024 * 1024;

export class CatalogFile {
  readonly #path: string;
  readonly #say: (line: string) => void;
  #stamp = '';
  #content: CatalogContent;
  /** Why the current file cannot be used; the last valid content stays in use. */
  #trouble: string | null = null;

  /** Throws `bad_input` with the position in the file, or if there is no such file. */
  static async open(path: string, say: (line: string) => void): Promise<CatalogFile> {
    const file = new CatalogFile(resolve(path), say);
    const stamp = await file.#look();
    file.#content = await file.#read();
    file.#stamp = stamp;
    return file;
  }

  private constructor(path: string, say: (line: string) => void) {
    this.#path = path;
    this.#say = say;
    this.#content = { tables: [], folder: dirname(path), located: (error) => error };
  }

  /** What is wrong with the file since it was changed, as a sentence; null if nothing is. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** The current content, or the last valid one while the file cannot be used. */
  async content(): Promise<CatalogContent> {
    try {
      const stamp = await this.#look();
      if (stamp !== this.#stamp) {
        // Also if it is not valid: the same error need not be read again.
        this.#stamp = stamp;
        this.#content = await this.#read();
        this.#say(`The catalog ${this.#path} was reloaded.`);
        this.#trouble = null;
      }
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      if (this.#trouble !== error.message) {
        this.#say(
          `The catalog could not be reloaded; the previous version stays in use: ${error.message}`,
        );
      }
      this.#trouble = error.message;
    }
    return this.#content;
  }

  async #look(): Promise<string> {
    const found = await stat(this.#path, { bigint: true }).catch((cause: unknown) => {
      throw this.#unreadable(cause);
    });
    const { ino, size, mtimeNs, ctimeNs } = found;
    if (size > BYTES_MAX) {
      throw new MillraceError({
        code: 'too_large',
        what: `The catalog ${this.#path} has more than ${BYTES_MAX} bytes.`,
      });
    }
    return `${ino}/${size}/${mtimeNs}/${ctimeNs}`;
  }

  async #read(): Promise<CatalogContent> {
    const raw = await readFile(this.#path, 'utf8').catch((cause: unknown) => {
      throw this.#unreadable(cause);
    });
    const text = raw.startsWith('\uFEFF') ? raw.slice(1) : raw;
    const values = await parseDocumentText(text, extname(this.#path).toLowerCase() === '.json');
    if ('message' in values) {
      const path = `${this.#path}:${editorPlace(text, values.offset)}`;
      throw new MillraceError({ code: 'bad_input', path, what: values.message });
    }
    const [value, second] = values;
    const folder = dirname(this.#path);
    // An empty file names no tables.
    if (value === undefined) return { tables: [], folder, located: (error) => error };
    const located = locator(this.#path, text, value.place);
    if (second !== undefined) {
      const what = 'A catalog must be a single document, but a second one begins here.';
      const path = `${this.#path}:${editorPlace(text, second.place([]))}`;
      throw new MillraceError({ code: 'bad_input', path, what });
    }
    try {
      const { tables, at } = wrapped(value.value);
      return { tables: readTables(tables, at), folder, located };
    } catch (error) {
      throw located(error);
    }
  }

  #unreadable(cause: unknown): MillraceError {
    return new MillraceError({
      code: 'bad_input',
      what: `The catalog ${this.#path} cannot be read: ${readFault(cause)}.`,
      cause,
    });
  }
}

/** Accepts `tables: {...}` or the tables themselves. */
function wrapped(value: unknown): { readonly tables: unknown; readonly at: string } {
  if (typeof value !== 'object' || value === null || !('tables' in value)) {
    return { tables: value, at: '' };
  }
  const { tables, ...others } = value;
  const isTable =
    typeof tables === 'string' ||
    (typeof tables === 'object' && tables !== null && 'paths' in tables);
  if (isTable) return { tables: value, at: '' };
  const [other] = Object.keys(others);
  if (other === undefined) return { tables, at: '/tables' };
  throw new MillraceError({
    code: 'bad_input',
    path: `/${other.slice(0, 80)}`,
    what: 'A catalog has no field besides `tables`.',
    todo: 'Put the table below `tables`.',
  });
}

function locator(
  file: string,
  text: string,
  place: TextValue['place'],
): (error: unknown) => unknown {
  return (error) => {
    if (!isMillraceError(error) || error.path === undefined) return error;
    const { code, what, why, todo, path } = error;
    const pointer = path === '' ? '' : `: ${path}`;
    return new MillraceError({
      code,
      path: `${file}:${editorPlace(text, place(pointerKeys(path)))}${pointer}`,
      what,
      why,
      todo,
      cause: error,
    });
  };
}
